"""Runs programs within a `with` block and measures the processor time of them and all their descendants."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

ROOT = Path(__file__).resolve().parents[1]
_POLL_EVERY_S = 0.25
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Running:
    """Programs that run within a `with` block; at its end they and all their descendants are killed."""

    def __init__(self, commands: Sequence[Sequence[str]], directory: Path) -> None:
        directory.mkdir(parents=True)
        self._log = directory / "log"
        with self._log.open("wb") as out:
            self._processes = [subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out) for command in commands]
        self._family = Family(process.pid for process in self._processes)
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._watcher.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._watcher.join()
        for pid in self._family.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._processes:
            process.wait()

    def check(self) -> None:
        """Raises an error if a program has ended."""
        for process in self._processes:
            if process.poll() is not None:
                message = f"{process.args!r} ended: {self._log.read_text()[-4000:]}"
                raise RuntimeError(message)

    def cpu_s(self) -> float:
        """The processor time used so far, including that of all descendants."""
        return self._family.cpu_s()

    def _watch(self) -> None:
        while not self._ended.wait(_POLL_EVERY_S):
            self._family.cpu_s()


class Process(NamedTuple):
    """A process (`name`: id and start time), its own processor time, and that of the children it has waited for."""

    name: tuple[int, int]
    parent: int
    own_s: float
    waited_s: float


class Family:
    """Processes and their descendants.

    When a process waits for an ended child, the system adds the child's time to its own. Some, such as Spark's Python
    daemons, do not wait: for their children the time last seen is counted here.
    """

    def __init__(self, roots: Iterable[int]) -> None:
        self._roots = set(roots)
        self._members: dict[tuple[int, int], Process] = {}
        self._lost_s = 0.0
        self._mutex = threading.Lock()

    def pids(self) -> list[int]:
        with self._mutex:
            self._scan()
            return [pid for pid, _ in self._members]

    def cpu_s(self) -> float:
        with self._mutex:
            self._scan()
            return self._lost_s + sum(one.own_s + one.waited_s for one in self._members.values())

    def _scan(self) -> None:
        running = [one for one in map(_process, Path("/proc").glob("[0-9]*/stat")) if one is not None]
        found = {one.name: one for one in running if one.name in self._members or one.name[0] in self._roots}
        parents = list(found.values())
        for parent in parents:
            children = [one for one in running if one.parent == parent.name[0] and one.name not in found]
            found |= {one.name: one for one in children}
            parents += children
        before, self._members = self._members, found
        ended_s = sum(one.own_s + one.waited_s for name, one in before.items() if name not in found)
        taken_over_s = sum(one.waited_s - before[name].waited_s for name, one in found.items() if name in before)
        self._lost_s += max(0.0, ended_s - taken_over_s)


def _process(stat: Path) -> Process | None:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return None
    user, system, waited_user, waited_system = (int(ticks) / _TICKS_PER_S for ticks in fields[11:15])
    # Process ids are reused, but not with the same start time.
    name = int(stat.parent.name), int(fields[19])
    return Process(name, int(fields[1]), user + system, waited_user + waited_system)
