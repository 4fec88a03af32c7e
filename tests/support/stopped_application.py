"""An application in a separate process that stops at a step of a commit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from tests.support.processes import descendants, kill

_WITHIN_S = 120


class StoppedApplication:
    """One run of an application that stops at a step; a test then kills or resumes it."""

    def __init__(
        self, directory, step, batch, *, broker=None, partitions=None, max_records=20, topology="word_letters"
    ):
        self.file = directory / f"stopped-{os.urandom(4).hex()}"
        stop = {} if step is None else {"STOP_AT": f"{step} {batch} {self.file}"}
        spread = {} if partitions is None else {"SPARK_PARTITIONS": str(partitions)}
        where = [] if broker is None else [broker.bootstrap_servers]
        self.stderr = directory / f"{self.file.name}.txt"
        directory.mkdir(parents=True, exist_ok=True)
        with self.stderr.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.killable", topology, directory, str(max_records), *where],
                env={**os.environ, **stop, **spread},
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )

    def wait(self):
        """Waits until a process has stopped, and returns its id; `None` if the application ends first."""
        ends_s = time.monotonic() + _WITHIN_S
        while time.monotonic() < ends_s:
            if self.file.exists() and self.file.read_text():
                return int(self.file.read_text())
            if self.process.poll() is not None:
                return None
            time.sleep(0.01)
        raise AssertionError(self.stderr.read_text()[-3000:])

    def kill(self, pid, victim):
        """Kills the stopped process, or all processes of the application."""
        kill(pid)
        if victim == "driver":
            kill(self.process.pid, *descendants(self.process.pid))
        self.end()

    def resume(self, pid):
        """Lets the stopped process continue until the application ends; returns its stderr."""
        os.kill(pid, signal.SIGCONT)
        self.end()
        return self.stderr.read_text()

    def end(self):
        try:
            said, _ = self.process.communicate(timeout=_WITHIN_S)
        except subprocess.TimeoutExpired:
            kill(self.process.pid, *descendants(self.process.pid))
            raise
        return said.split()
