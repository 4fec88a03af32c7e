"""An application on Kafka whose processes are killed with `kill -9`, and restarted as a supervisor would do."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.support.processes import busiest, descendants, kill, workers
from tests.support.state_logs import newest_begun

_DONE_WITHIN_S = 600


class KilledApplication:
    """One application, in rounds: each round processes the new records of its input topics.

    Args:
        masters: Spark masters to choose from; `local[2,4]` retries a lost task, `local[2]` fails.
        outages_s: how long the broker may be unavailable.
    """

    def __init__(self, topology, directory, broker, max_records, rng, masters, outages_s):
        self._command = [sys.executable, "-m", "tests.support.killable", topology, str(directory), str(max_records)]
        self._directory, self._broker, self._rng = directory, broker, rng
        self._masters, self._outages_s = masters, outages_s
        self._process = None
        self._done = 0
        self.events, self.errors = [], []

    def process(self):
        """Begins a round, in the running process or in a new one."""
        if self._process is not None and self._process.poll() is None:
            self._done = self._said("done")
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
        else:
            self._start()

    def last_batch(self):
        """The newest batch that has begun, -1 before the first."""
        return newest_begun(self._directory / "state")

    def reaches(self, batch):
        """Waits until a batch has begun, and returns true; returns false if the round ends first."""
        while self._process.poll() is None and self._said("done") == self._done:
            if self.last_batch() >= batch:
                return True
            time.sleep(0.01)
        return False

    def strike(self, victim):
        """Kills the `victim`: "driver", "worker" or "broker". A killed broker is restarted after a while.

        When the driver is killed, all its child processes survive it for a moment, or only the workers, which are still
        writing, or none.
        """
        driver = self._process.pid
        match victim:
            case "driver" if self._process.poll() is None:
                below = descendants(driver)
                spared = self._rng.choice([below, workers(driver), []])
                kill(driver, *(pid for pid in below if pid not in spared))
                self._process.wait()
            case "worker":
                kill(*busiest(workers(driver)))
            case "broker":
                self._broker.kill()
                time.sleep(self._rng.choice(self._outages_s))
                self._broker.start()
        self.events.append(f"{victim} killed in batch {self.last_batch()}")

    def finish(self):
        """Waits for the end of the round; restarts the application whenever it ends early."""
        ends_s = time.monotonic() + _DONE_WITHIN_S
        while self._said("done") == self._done:
            assert time.monotonic() < ends_s, (self.events, self._stderr.read_text()[-2000:])
            if self._process.poll() is not None:
                if self._process.returncode > 0:
                    said = self._stderr.read_text()
                    self.errors += [line for line in said.splitlines() if line.startswith("headrace.errors.")] or [said]
                self._start()
            time.sleep(0.02)

    def stop(self):
        if self._process is not None:
            kill(self._process.pid, *descendants(self._process.pid))
            self._process.communicate()

    def _start(self):
        if self._process is not None:
            self._process.communicate()
        master = self._rng.choice(self._masters)
        self._directory.mkdir(parents=True, exist_ok=True)
        with self._stdout.open("wb") as stdout, self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(
                [*self._command, self._broker.bootstrap_servers, master],
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        self._done = 0
        self.events.append(f"started on {master}")

    def _said(self, word):
        return self._stdout.read_text().split().count(word)

    @property
    def _stdout(self):
        return self._directory / "stdout.txt"

    @property
    def _stderr(self):
        return self._directory / "stderr.txt"
