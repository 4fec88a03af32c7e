"""`Pending`: the results that an operator holds back, and what would release them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from headrace.model.time.windows import Windowed


@dataclass(frozen=True)
class PendingTask:
    """The results that an operator holds back in one task. Every task has its own stream time.

    Args:
        task_id: the id of the task, `<sub-topology>_<partition>`.
        waiting: how many results are held back.
        oldest: the key of the result that will be released first, a `Windowed` if it has a window; `None` if no results
            are held back.
        since_ms: for a result with a window, the end of the window; for a row of a table, the timestamp of the first
            update that is held back; for a record of a join, its timestamp.
        release_ms: the lowest timestamp of a record that would release the oldest result; `None` if no timestamp is
            high enough.
        release_key: the key that such a record must have if every key has its own stream time; else `None`.
        stream_time_ms: the stream time, that of `release_key` if every key has its own; -1 before the first record.
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
    r"""The results that an operator holds back in all its tasks. `str()` of it is a sentence to print.

    `unit` says what is held back if it has no window: rows of a table, or records of a join.

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
    unit: Literal["row", "record"] = "row"

    @property
    def waiting(self) -> int:
        """How many results are held back in all tasks."""
        return sum(task.waiting for task in self.tasks)

    @property
    def oldest(self) -> PendingTask | None:
        """The task whose oldest result has the lowest `since_ms`; `None` if no results are held back."""
        holding = [task for task in self.tasks if task.since_ms is not None]
        return min(holding, key=lambda task: (task.since_ms, task.task_id), default=None)

    def __str__(self) -> str:
        oldest = self.oldest
        if oldest is None:
            return f"{self.operator}: nothing waits{self._stream_time()}."
        several = len(self.tasks) > 1
        windowed = self.unit == "row" and isinstance(oldest.oldest, Windowed)
        counted = _count_text(self.waiting, "window" if windowed else self.unit)
        what = f"{counted}{_in_tasks(self.tasks) if several else ''}"
        named = f"{oldest.oldest}" if windowed else f"{oldest.oldest!r}, held back since {oldest.since_ms}"
        where = f" in task {oldest.task_id}" if several else ""
        return (
            f"{self.operator}: {what}; the oldest is {named}{where}; it "
            f"{_release(oldest, 'close' if windowed else 'leave', several=several)}; {_time(oldest, several=several)}."
        )

    def _stream_time(self) -> str:
        times = [task.stream_time_ms for task in self.tasks if task.stream_time_ms >= 0]
        return f"; stream time is {max(times)}" if len(self.tasks) == 1 and times else ""


def _release(oldest: PendingTask, verb: str, *, several: bool) -> str:
    if oldest.release_ms is None:
        return f"does not {verb} before the end of time"
    return f"{verb}s when {_needed(oldest, several=several)}"


def _needed(oldest: PendingTask, *, several: bool) -> str:
    if oldest.release_key is not None:
        return f"a record of key {oldest.release_key!r} with timestamp {oldest.release_ms} or later arrives"
    there = " there" if several else ""
    return f"a record with timestamp {oldest.release_ms} or later arrives{there} (any key)"


def _time(oldest: PendingTask, *, several: bool) -> str:
    if oldest.release_key is not None:
        return f"the stream time of that key is {oldest.stream_time_ms}"
    return f"stream time {'there ' if several else ''}is {oldest.stream_time_ms}"


def _count_text(number: int, what: str) -> str:
    return f"{number:,} {what} waits" if number == 1 else f"{number:,} {what}s wait"


def _in_tasks(tasks: tuple[PendingTask, ...]) -> str:
    holding = sum(task.waiting > 0 for task in tasks)
    return f" in {holding} of {len(tasks)} tasks"
