"""The program that Spark starts instead of Python: asks the fork server for a process, and runs as long as that does.

`python -IS launcher.py SOCKET PYTHON ARGUMENTS`. If the server has ended, or Spark wants to run anything but a module,
the launcher becomes an ordinary Python. It imports almost nothing, so that it starts in milliseconds.

The launcher ends when Spark's JVM, its parent, has ended. The server then ends the process that it forked for it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys

_LOOK_EVERY_S = 2.0


def launch(address: str, python: str, arguments: list[str]) -> int:
    """Waits for the forked process and returns its exit code; without a server this process becomes Python itself."""
    jvm, connection = os.getppid(), socket.socket(socket.AF_UNIX)
    if arguments[:1] != ["-m"] or connection.connect_ex(address):
        os.execv(python, [python, *arguments])  # noqa: S606  what Spark asked for
    asked = {"arguments": arguments[1:], "environment": dict(os.environ), "directory": os.getcwd()}  # noqa: PTH109
    message = json.dumps(asked).encode() + b"\n"
    sent = socket.send_fds(connection, [message], [0, 1, 2])
    connection.sendall(message[sent:])
    for descriptor in (0, 1):
        os.close(descriptor)
    with connection.makefile("rb") as answers:
        pid = int(answers.readline())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        while not select.select([connection], [], [], _LOOK_EVERY_S)[0]:
            if os.getppid() != jvm:
                return 1
        code = answers.readline()
    return int(code) if code else 1


if __name__ == "__main__":
    ended = launch(sys.argv[1], sys.argv[2], sys.argv[3:])
    if ended < 0:
        if -ended != signal.SIGKILL:  # whose handler cannot be set
            signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    sys.exit(ended)
