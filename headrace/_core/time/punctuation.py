"""Punctuation: when schedules are due. Callers pass the time in; nothing here reads a clock.

A schedule with a time shift (KAFKA-13678) is due at `shift + n * interval`, also after a restart: its next due time is
stored in the task's state, so that no due time fires twice and, in stream time, none is skipped. Without a shift, a
schedule by the wall clock is first due one interval after it is created, and a schedule by stream time when stream
time is next checked: after the record that is being processed, or after the first record. If the wall clock goes back,
schedules follow it instead of waiting until it has caught up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from headrace._state.bytes.api import ByteStore
from headrace.model.processor import PunctuationType
from headrace.model.time.end_of_time import END_OF_TIME_MS

UNKNOWN = -1  # a clock before the first record; a due time to be computed when the clock is next checked
NEVER = END_OF_TIME_MS + 1

Callback = Callable[[int], object]

_log = logging.getLogger(__name__)


def at_or_after(time_ms: int, interval_ms: int, shift_ms: int) -> int:
    """The first of the times `shift_ms + n * interval_ms` that is not before `time_ms`."""
    return shift_ms - (shift_ms - time_ms) // interval_ms * interval_ms


def after(time_ms: int, interval_ms: int, point_ms: int) -> int:
    """The first of the times `point_ms + n * interval_ms` that is after `time_ms`, not equal to it."""
    return point_ms + ((time_ms - point_ms) // interval_ms + 1) * interval_ms


class Grid(NamedTuple):
    """The clock, interval and time shift of a schedule. `Agenda` reduces the shift to less than the interval."""

    kind: PunctuationType
    interval_ms: int
    shift_ms: int | None


class Schedule:
    """One schedule of one node.

    `number` numbers all schedules of a task. `nth` numbers those of the same node and grid, from 0.
    """

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
        """When the schedule is first due, if its clock shows `clock_ms` now.

        Without a shift, a schedule of stream time is due at once, one of the wall clock after an interval.
        """
        kind, interval_ms, shift_ms = self.grid
        if shift_ms is not None:
            return at_or_after(clock_ms, interval_ms, shift_ms)
        return clock_ms if kind is PunctuationType.STREAM_TIME else clock_ms + interval_ms

    def is_too_far_ahead(self, clock_ms: int, due_ms: int | None = None) -> bool:
        """Whether the due time shows that the wall clock went back by more than the interval. If so, logs a warning.

        A due time is at most one interval after the clock that it was computed from. Smaller steps back are ignored:
        following them could fire the same due time twice. `due_ms` replaces the schedule's own due time, if given.
        """
        kind, interval_ms, _ = self.grid
        ahead_ms = (self.due_ms if due_ms is None else due_ms) - clock_ms
        if kind is not PunctuationType.WALL_CLOCK_TIME or ahead_ms <= 2 * interval_ms:
            return False
        _log.warning(
            "%s: the wall clock went back: it shows %d, and the next punctuation was due %d ms later. The schedule, "
            "every %d ms, follows the clock.",
            self.node,
            clock_ms,
            ahead_ms,
            interval_ms,
        )
        return True

    @property
    def state_key(self) -> bytes | None:
        """The key of the due time in the task's state; `None` without a shift, because then it is not stored."""
        kind, interval_ms, shift_ms = self.grid
        if shift_ms is None:
            return None
        return f"schedule {self.node} {kind.name} {interval_ms} {shift_ms} {self.nth}".encode()


class Memory(NamedTuple):
    """What an agenda passes on to the next agenda of the same task.

    `created` is the number of schedules created so far. `claimed` has the state keys of schedules that were added since
    the processors were created: a due time that was stored before a restart is used only once. It is a dict instead of
    a set, so that equal memories have equal bytes.
    """

    schedules: list[Schedule]
    created: int
    claimed: dict[bytes, None]


class Agenda:
    """All punctuations that a task has scheduled.

    The due times of schedules with a time shift are stored in the task's state, so they survive a restart.
    """

    def __init__(self, state: ByteStore) -> None:
        self._state = state
        self._memory = Memory(schedules=[], created=0, claimed={})
        self._wake = dict.fromkeys(PunctuationType, NEVER)

    @property
    def memory(self) -> Memory:
        return self._memory

    def restore(self, memory: Memory) -> None:
        """Continues with the schedules of an earlier agenda of the same task."""
        self._memory = memory
        self._plan_wake()

    def add(self, node: str, grid: Grid, callback: Callback, clock_ms: int) -> Schedule:
        """Adds a schedule. Its clock shows `clock_ms` now; `UNKNOWN` is stream time before the first record."""
        kind, interval_ms, shift_ms = grid
        if shift_ms is not None:
            grid = grid._replace(shift_ms=shift_ms % interval_ms)
        schedules, created, claimed = self._memory
        used = {other.nth for other in schedules if (other.node, other.grid) == (node, grid)}
        nth = next(n for n in range(len(used) + 1) if n not in used)
        schedule = Schedule(self, node, grid, callback, created, nth)
        schedules.append(schedule)
        self._memory = self._memory._replace(created=created + 1)
        if schedule.state_key is not None:
            self._set_due(schedule, self._restored_due(schedule, clock_ms))
            claimed[schedule.state_key] = None
        else:
            self._set_due(schedule, UNKNOWN if kind is PunctuationType.STREAM_TIME else schedule.first_due(clock_ms))
        return schedule

    def remove(self, schedule: Schedule) -> None:
        if schedule in self._memory.schedules:
            self._memory.schedules.remove(schedule)
            self._store(schedule, live=False)
            self._plan_wake()

    def next_due_ms(self, kind: PunctuationType) -> int | None:
        """When the next schedule of a clock is due; `None` for never."""
        wake = self._wake[kind]
        return None if wake == NEVER else wake

    def fire(self, kind: PunctuationType, clock_ms: int, punctuate: Callable[[Schedule], None]) -> None:
        """Calls `punctuate` for all schedules that are due, ordered by due time, then by number.

        A schedule fires once, however many of its due times have passed. Schedules that callbacks add meanwhile fire
        too, if they are due.
        """
        if kind is PunctuationType.WALL_CLOCK_TIME:
            self._follow_clock_back(clock_ms)
        while self._wake[kind] <= clock_ms:
            waiting = [schedule for schedule in self._memory.schedules if schedule.grid.kind is kind]
            for schedule in waiting:
                if schedule.due_ms == UNKNOWN:
                    self._set_due(schedule, schedule.first_due(clock_ms))
            schedule = min(waiting, key=lambda schedule: (schedule.due_ms, schedule.number))
            if schedule.due_ms <= clock_ms:
                self._set_due(schedule, after(clock_ms, schedule.grid.interval_ms, schedule.due_ms))
                punctuate(schedule)

    def _follow_clock_back(self, clock_ms: int) -> None:
        for schedule in self._memory.schedules:
            if schedule.is_too_far_ahead(clock_ms):
                self._set_due(schedule, schedule.first_due(clock_ms))

    def _restored_due(self, schedule: Schedule, clock_ms: int) -> int:
        """Returns when a new schedule with a time shift (KAFKA-13678) is first due.

        That is the due time that was stored before a restart. If none is stored, it is the first of the schedule's
        times that is not before `clock_ms`, or `UNKNOWN` if `clock_ms` is. Stored times of the wall clock that passed
        while the task was down are skipped, and so are those of a schedule that was cancelled. Of stream time, none is
        skipped. If the wall clock went back, the stored time is ignored (see `is_too_far_ahead`).
        """
        first_ms = schedule.first_due(clock_ms) if clock_ms != UNKNOWN else UNKNOWN
        state_key = schedule.state_key
        assert state_key is not None
        stored = None if state_key in self._memory.claimed else self._state.get(state_key)
        if stored is None:
            return first_ms
        due_ms, live = msgspec.json.decode(stored, type=tuple[int, bool])
        if schedule.is_too_far_ahead(clock_ms, due_ms):
            return first_ms
        # The wall clock went on while the task was down, and due times in between have passed. Stream time did not.
        return due_ms if live and schedule.grid.kind is PunctuationType.STREAM_TIME else max(due_ms, first_ms)

    def _set_due(self, schedule: Schedule, due_ms: int) -> None:
        schedule.due_ms = due_ms
        self._store(schedule)
        self._plan_wake()

    def _store(self, schedule: Schedule, *, live: bool = True) -> None:
        if schedule.state_key is not None and schedule.due_ms != UNKNOWN:
            self._state.put(schedule.state_key, msgspec.json.encode((schedule.due_ms, live)))

    def _plan_wake(self) -> None:
        for kind in PunctuationType:
            due = (schedule.due_ms for schedule in self._memory.schedules if schedule.grid.kind is kind)
            self._wake[kind] = min(due, default=NEVER)
