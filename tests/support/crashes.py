"""An application on Kafka whose parts are killed with `kill -9`; like a supervisor would, it is started again."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.support.processes import descendants, kill, workers

_ENDS_WITHIN_S = 300


class Crashing:
    """The application of a topology, until all of its input is processed."""

    def __init__(self, topology, directory, broker, max_records, master="local[2]"):
        self._command = [sys.executable, "-m", "tests.support.killable", topology, str(directory), str(max_records)]
        self._command += [broker.bootstrap_servers, master]
        self._directory = directory
        self._broker = broker
        self._process = None
        self.starts = 0
        self.errors = []

    def start(self):
        self._directory.mkdir(parents=True, exist_ok=True)
        with self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True
            )
        self.starts += 1

    def last_batch(self):
        """The newest batch that has begun, -1 before the first."""
        offsets = (self._directory / "state" / "checkpoint" / "offsets").glob("[0-9]*")
        return max((int(path.name) for path in offsets), default=-1)

    def reaches(self, batch):
        """Waits until a batch has begun; says whether it was reached, and not the end."""
        while self._process.poll() is None:
            if self.last_batch() >= batch:
                return True
            time.sleep(0.005)
        return False

    def strike(self, victim, rng):
        """Kills a part of the application, or the broker, which is back after a while.

        Of what is beneath a driver all may survive it for a moment, or the workers with what they were writing, or
        nothing.
        """
        match victim:
            case "driver":
                driver, below = self._process.pid, descendants(self._process.pid)
                spared = rng.choice([below, workers(driver), []])
                kill(driver, *(pid for pid in below if pid not in spared))
            case "worker":
                kill(*rng.sample(found, 1) if (found := workers(self._process.pid)) else ())
            case "broker":
                self._broker.kill()
                time.sleep(rng.choice([0, 1, 4, 12]))
                self._broker.start()

    def finish(self):
        """Until it has ended well; starts it again if it has not."""
        while self._process.wait(_ENDS_WITHIN_S):
            self.errors += self._stderr.read_text().splitlines()[-1:]
            self.start()

    def stop(self):
        if self._process is not None:
            kill(self._process.pid, *descendants(self._process.pid))
            self._process.wait()

    @property
    def _stderr(self):
        return self._directory / "stderr.txt"
