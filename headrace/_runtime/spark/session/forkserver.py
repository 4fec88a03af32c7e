"""Forks Python processes for Spark from one that has imported everything they need.

For its first micro-batch Spark starts half a dozen Python interpreters, one after the other, each of which imports the
same modules for a second. Here one process imports them while the JVM starts. Instead of Python, Spark starts a small
script (`launcher.py`), which sends its arguments, environment, input and output to that process, which forks itself.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

from headrace._private import temporary_directory
from headrace._runtime.spark.session import class_archive

_MODULES = (
    "pyspark.daemon",
    "pyspark.worker",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "pyspark.sql.worker.write_into_data_source",
    "headrace._runtime.spark.topics.data_source",
    "headrace._runtime.spark.stages.carriers",
    "headrace._runtime.spark.topics.kafka",
    "headrace._runtime.spark.topics.embedded",
)
_OPTIONAL = ("confluent_kafka", "confluent_kafka.admin")
_MESSAGE_BYTES = 1 << 20
_LAUNCHER = Path(__file__).with_name("launcher.py")

_started: list[tuple[subprocess.Popen[bytes], str]] = []


def launcher() -> str:
    """Starts the fork server, unless it runs, and returns the path of a program that Spark can run as Python.

    The server ends with this process.
    """
    if not _started:
        directory = Path(tempfile.mkdtemp(prefix="python-", dir=temporary_directory()))
        address, script = directory / "socket", directory / "python"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{_LAUNCHER}" "{address}" "{sys.executable}" "$@"\n')
        script.chmod(0o700)
        environment = {**os.environ, "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}
        process = subprocess.Popen(  # noqa: S603  fixed arguments
            [sys.executable, "-m", __name__, str(address)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        _started.append((process, str(script)))
    return _started[0][1]


class _Server:
    """Forks a process for every launcher that connects, and sends the launcher its exit code."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._children: dict[int, socket.socket] = {}
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Serves launchers until the process that started this one ends; then ends the forked processes, too.

        Most of them would notice by themselves that Spark is gone, but not while they wait, e.g. for a broker.
        """
        try:
            self._serve()
        finally:
            for pid in list(self._children):
                self._abandon(pid)

    def _serve(self) -> None:
        while True:
            connections = {connection.fileno(): pid for pid, connection in self._children.items()}
            waiting = self._listener.fileno()
            ready, _, _ = select.select([0, waiting, self._woken, *connections], [], [])
            if 0 in ready:
                return
            if self._woken in ready:
                os.read(self._woken, 1 << 16)
                self._reap()
            for descriptor in ready:
                if connections.get(descriptor) in self._children:
                    self._abandon(connections[descriptor])
            if waiting in ready:
                self._accept()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        message, descriptors, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, 3)
        while not message.endswith(b"\n"):
            received = connection.recv(_MESSAGE_BYTES)
            if not received:
                break
            message += received
        if not message.endswith(b"\n") or len(descriptors) != 3:
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            self._become(json.loads(message), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        self._children[pid] = connection
        with suppress(OSError):
            connection.sendall(b"%d\n" % pid)

    def _become(self, asked: dict[str, object], descriptors: list[int]) -> None:
        """Turns this new process into the Python that the launcher `asked` for; ends the process instead of returning.

        `descriptors` are the launcher's standard input, output and error output.
        """
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        for inherited in (self._listener, *self._children.values()):
            inherited.close()
        os.close(self._woken)
        os.close(self._wake)
        code = 1
        try:
            run(asked)
            code = 0
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
        except (BrokenPipeError, ConnectionResetError, EOFError):
            pass  # Spark has closed the connection of a worker that it no longer needs; errors of user code go to Spark
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(Exception):
                    stream.flush()
            os._exit(code)

    def _reap(self) -> None:
        for pid in list(self._children):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                connection = self._children.pop(pid)
                with suppress(OSError):
                    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
                connection.close()

    def _abandon(self, pid: int) -> None:
        """Ends a process that nobody waits for any more."""
        self._children.pop(pid).close()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def run(asked: dict[str, object]) -> None:
    """Runs a module as `python -m` does, with the arguments, environment and directory that the launcher has sent."""
    environment, arguments = asked["environment"], asked["arguments"]
    assert isinstance(environment, dict)
    assert isinstance(arguments, list)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(str(asked["directory"]))
    for path in reversed(environment.get("PYTHONPATH", "").split(os.pathsep)):
        if path and path not in sys.path:
            sys.path.insert(0, path)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)  # type: ignore[union-attr]
    # runpy warns that the module was imported before, which is just what this process is for.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="runpy")
    sys.argv = ["-m", *arguments[1:]]
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


def main(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        for module in _MODULES:
            importlib.import_module(module)
        for module in _OPTIONAL:
            if importlib.util.find_spec(module.split(".")[0]) is not None:
                importlib.import_module(module)
        gc.collect()
        gc.freeze()
        try:
            _Server(listener).serve()
        finally:
            for path in Path(address).parent.iterdir():
                path.unlink()
            Path(address).parent.rmdir()
        # A process that reads the output of the application to its end must not wait for the archive.
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
            os.dup2(nowhere.fileno(), 2)
        class_archive.write_if_missing()


if __name__ == "__main__":
    main(sys.argv[1])
