"""Punctuation: when schedules are due. Clocks are given, never read.

A schedule with a time shift is due at `shift + n * interval`, whatever came before: where it stands is kept in the
task's state, so that no due time fires twice and, in stream time, none is skipped. One without a shift counts from
where its task began.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from headrace._state.bytes.api import ByteStore
from headrace.model.processor import PunctuationType

UNKNOWN = -1  # of a clock: no record seen yet; of a due time: counts from the clock at the next look
NEVER = 1 << 62

Callback = Callable[[int], object]


def at_or_after(time_ms: int, interval_ms: int, shift_ms: int) -> int:
    """The first point of the grid `shift + n * interval` that is not before a time."""
    return shift_ms - (shift_ms - time_ms) // interval_ms * interval_ms


def after(time_ms: int, interval_ms: int, point_ms: int) -> int:
    """The first point strictly after a time, on the grid through a given point."""
    return point_ms + ((time_ms - point_ms) // interval_ms + 1) * interval_ms


class Grid(NamedTuple):
    """What was asked for; `shift_ms` is `None` or less than the interval."""

    kind: PunctuationType
    interval_ms: int
    shift_ms: int | None


class Schedule:
    """One schedule of one node; `number` counts all schedules of a task."""

    def __init__(self, agenda: Agenda, node: str, grid: Grid, callback: Callback, number: int, nth: int) -> None:
        self._agenda = agenda
        self.node = node
        self.grid = grid
        self.callback = callback
        self.number = number
        self.nth = nth
        self.due_ms = UNKNOWN

    def cancel(self) -> None:
        """Ends the schedule; calling it again does nothing."""
        self._agenda.remove(self)

    def first_due(self, clock_ms: int) -> int:
        """When it is first due, as seen when the clock shows this."""
        _, interval_ms, shift_ms = self.grid
        return clock_ms if shift_ms is None else at_or_after(clock_ms, interval_ms, shift_ms)

    @property
    def kept_under(self) -> bytes | None:
        """The key of its state; what has no shift keeps none."""
        kind, interval_ms, shift_ms = self.grid
        if shift_ms is None:
            return None
        return f"schedule {self.node} {kind.name} {interval_ms} {shift_ms} {self.nth}".encode()


class Memory(NamedTuple):
    """What an agenda passes on to the next object of the same task.

    `claimed` are the keys of schedules that this run has restored or begun; in order, so that equal states have equal
    bytes.
    """

    schedules: list[Schedule]
    made: int
    claimed: dict[bytes, None]


class Agenda:
    """All schedules of a task. `kept` is the task's state."""

    def __init__(self, kept: ByteStore) -> None:
        self._kept = kept
        self._memory = Memory([], 0, {})
        self._wake = dict.fromkeys(PunctuationType, NEVER)

    @property
    def memory(self) -> Memory:
        return self._memory

    def remember(self, memory: Memory) -> None:
        """Goes on with what an earlier object of the same task knew."""
        self._memory = memory
        self._plan_wake()

    def add(self, node: str, grid: Grid, callback: Callback, clock_ms: int) -> Schedule:
        """A new schedule, made when its clock shows `clock_ms`."""
        kind, interval_ms, shift_ms = grid
        if shift_ms is not None:
            grid = grid._replace(shift_ms=shift_ms % interval_ms)
        schedules, made, claimed = self._memory
        taken = {other.nth for other in schedules if (other.node, other.grid) == (node, grid)}
        nth = next(n for n in range(len(taken) + 1) if n not in taken)
        schedule = Schedule(self, node, grid, callback, made, nth)
        schedules.append(schedule)
        self._memory = self._memory._replace(made=made + 1)
        if schedule.kept_under is not None:
            self._move(schedule, self._resumed(schedule, clock_ms))
            claimed[schedule.kept_under] = None
        else:
            self._move(schedule, UNKNOWN if kind is PunctuationType.STREAM_TIME else clock_ms + interval_ms)
        return schedule

    def remove(self, schedule: Schedule) -> None:
        if schedule in self._memory.schedules:
            self._memory.schedules.remove(schedule)
            self._keep(schedule, live=False)
            self._plan_wake()

    def next_due_ms(self, kind: PunctuationType) -> int | None:
        """When a clock next has something to fire; `None` for never."""
        wake = self._wake[kind]
        return None if wake == NEVER else wake

    def fire(self, kind: PunctuationType, clock_ms: int, punctuate: Callable[[Schedule], None]) -> None:
        """Runs what is due, by due time, then by age; until nothing is, as callbacks may add to it."""
        while self._wake[kind] <= clock_ms:
            waiting = [schedule for schedule in self._memory.schedules if schedule.grid.kind is kind]
            for schedule in waiting:
                if schedule.due_ms == UNKNOWN:
                    self._move(schedule, schedule.first_due(clock_ms))
            schedule = min(waiting, key=lambda schedule: (schedule.due_ms, schedule.number))
            if schedule.due_ms <= clock_ms:
                self._move(schedule, after(clock_ms, schedule.grid.interval_ms, schedule.due_ms))
                punctuate(schedule)

    def _resumed(self, schedule: Schedule, clock_ms: int) -> int:
        """When a schedule with a shift is first due: where the same one stood before a restart, else by the clock."""
        now = schedule.first_due(clock_ms) if clock_ms != UNKNOWN else UNKNOWN
        under = schedule.kept_under
        assert under is not None
        kept = None if under in self._memory.claimed else self._kept.get(under)
        if kept is None:
            return now
        due_ms, live = msgspec.json.decode(kept, type=tuple[int, bool])
        # A wall clock has gone on while the task was away: what was due then is over. Stream time has not.
        return due_ms if live and schedule.grid.kind is PunctuationType.STREAM_TIME else max(due_ms, now)

    def _move(self, schedule: Schedule, due_ms: int) -> None:
        schedule.due_ms = due_ms
        self._keep(schedule)
        self._plan_wake()

    def _keep(self, schedule: Schedule, *, live: bool = True) -> None:
        if schedule.kept_under is not None and schedule.due_ms != UNKNOWN:
            self._kept.put(schedule.kept_under, msgspec.json.encode((schedule.due_ms, live)))

    def _plan_wake(self) -> None:
        for kind in PunctuationType:
            due = (schedule.due_ms for schedule in self._memory.schedules if schedule.grid.kind is kind)
            self._wake[kind] = min(due, default=NEVER)
