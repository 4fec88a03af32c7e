"""`Pending`: what an operator holds back, and what would let it go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.model.windows import Windowed


@dataclass(frozen=True)
class PendingTask:
    """What one task of an operator holds back. Every task has a clock of its own, moved by its own records.

    Args:
        task_id: `<sub-topology>_<partition>`.
        waiting: how many results wait.
        oldest: the key of the one that leaves first, a `Windowed` if it has a window; `None` if nothing waits.
        since_ms: the end of its window, or the timestamp of its first update that is held back, or its own.
        release_ms: the timestamp that a record must at least have to let it go.
        release_key: of which key that record must be, if every key has its own time; `None` for any key.
        stream_time_ms: how far time has come, for that key if every key has its own; -1 before the first record.
    """

    task_id: str
    waiting: int
    oldest: Any = None
    since_ms: int | None = None
    release_ms: int | None = None
    release_key: Any = None
    stream_time_ms: int = -1


@dataclass(frozen=True)
class Pending:
    r"""What an operator holds back, over all its tasks; for people when printed.

    `unit` is what waits where it has no window: rows of a table, or records of a join.

    Example:
        >>> from headrace import Window
        >>> oldest = Windowed("alice", Window(0, 300_000))
        >>> task = PendingTask("1_0", 37, oldest, 300_000, release_ms=360_000, stream_time_ms=312_000)
        >>> print(str(Pending("counts-final", "counts-final-store", (task,))).replace("; ", ";\n"))
        counts-final: 37 windows wait;
        the oldest is [alice@0/300000];
        it closes when a record with timestamp 360000 or later arrives (any key);
        stream time is 312000.
    """

    operator: str
    store: str
    tasks: tuple[PendingTask, ...]
    unit: str = "row"

    @property
    def waiting(self) -> int:
        """How many results wait in all tasks."""
        return sum(task.waiting for task in self.tasks)

    @property
    def oldest(self) -> PendingTask | None:
        """The task whose oldest result has the earliest time, as far as one waits."""
        holding = [task for task in self.tasks if task.since_ms is not None]
        return min(holding, key=lambda task: (task.since_ms, task.task_id), default=None)

    def __str__(self) -> str:
        oldest = self.oldest
        if oldest is None:
            return f"{self.operator}: nothing waits{self._reached()}."
        several = len(self.tasks) > 1
        windowed = self.unit == "row" and isinstance(oldest.oldest, Windowed)
        counted = _counted(self.waiting, "window" if windowed else self.unit)
        what = f"{counted}{_in_tasks(self.tasks) if several else ''}"
        named = f"{oldest.oldest}" if windowed else f"{oldest.oldest!r}, held back since {oldest.since_ms}"
        where = f" in task {oldest.task_id}" if several else ""
        return (
            f"{self.operator}: {what}; the oldest is {named}{where}; it {'closes' if windowed else 'leaves'} when "
            f"{_needed(oldest, several=several)}; {_time(oldest, several=several)}."
        )

    def _reached(self) -> str:
        times = [task.stream_time_ms for task in self.tasks if task.stream_time_ms >= 0]
        return f"; stream time is {max(times)}" if len(self.tasks) == 1 and times else ""


def _needed(oldest: PendingTask, *, several: bool) -> str:
    if oldest.release_key is not None:
        return f"a record of key {oldest.release_key!r} with timestamp {oldest.release_ms} or later arrives"
    there = " there" if several else ""
    return f"a record with timestamp {oldest.release_ms} or later arrives{there} (any key)"


def _time(oldest: PendingTask, *, several: bool) -> str:
    if oldest.release_key is not None:
        return f"the stream time of that key is {oldest.stream_time_ms}"
    return f"stream time {'there ' if several else ''}is {oldest.stream_time_ms}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what} waits" if number == 1 else f"{number:,} {what}s wait"


def _in_tasks(tasks: tuple[PendingTask, ...]) -> str:
    holding = sum(task.waiting > 0 for task in tasks)
    return f" in {holding} of {len(tasks)} tasks"
