"""One side of an inner join of two streams, and the window store that holds a side's records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace._core.drop_reasons import DropReason
from headrace._core.laws import latest
from headrace._core.operator import AnyRecord, Operator
from headrace._core.task.context import TaskContext
from headrace._core.time.join_clock import ClockSettings, JoinClock
from headrace._state.layouts.entries_by_key import remove_key
from headrace._state.stores.window import TypedWindowStore
from headrace.model.record import Record
from headrace.model.time.end_of_time import later

Matches = Sequence[tuple[int, Any]]  # timestamps and values of records of the other side


class JoinSettings(NamedTuple):
    """One side of a join: the window stores of this side and of the `other`, and how far apart matches may be.

    A match is at most `before_ms` earlier or `after_ms` later than a record of this side. An outer side emits unmatched
    records. If at least one side is outer, `unmatched` names the store of unmatched records.
    """

    window: str
    other: str
    unmatched: str | None
    joiner: Callable[[Any, Any, Any], Any]
    is_left: bool
    is_outer: bool
    other_is_outer: bool
    before_ms: int
    after_ms: int
    grace_ms: int
    clock: ClockSettings


class StreamJoin(Operator):
    """Joins each record with the stored records of the other side that are within the window, however late it is.

    Records of both sides trigger results. The results of one record are in the order of the timestamps of its matches,
    then of their arrival. A result has the higher timestamp of the two records, and the headers of the one that arrived
    last. An inner join needs a stream time only if each key has its own.
    """

    def __init__(self, name: str, settings: JoinSettings) -> None:
        super().__init__(name)
        self.settings = settings
        self._before_ms, self._after_ms = settings.before_ms, settings.after_ms
        self._joined = settings.joiner if settings.is_left else _swapped(settings.joiner)

    def init(self, context: TaskContext) -> None:
        super().init(context)
        settings = self.settings
        self._other: TypedWindowStore[Any, Any] = context.store(settings.other)
        self._clock: JoinClock | None = None
        if settings.unmatched is not None or settings.clock.key_times is not None:
            self._clock = JoinClock.of(context, settings.clock)
            if settings.is_left:
                self.idle = self._clock.idle  # the left side closes idle keys for both

    def process(self, record: AnyRecord) -> None:
        key, timestamp_ms = record.key, record.timestamp_ms
        assert timestamp_ms is not None
        if key is None or record.value is None:
            self.join(record, ())
            return
        other, from_ms = self._other, timestamp_ms - self._before_ms
        self.join(record, other.fetch_duplicates(other.key_bytes(key), from_ms, self._last_match_ms(timestamp_ms)))

    def _last_match_ms(self, timestamp_ms: int) -> int:
        """The highest timestamp at which a record of the other side is within the window of a record."""
        return max(0, later(timestamp_ms, self._after_ms))

    def join(self, record: AnyRecord, matches: Matches) -> None:
        """Joins a record with `matches`, which the caller has found. A record without a key or a value has none."""
        key, value, timestamp_ms, headers = record.key, record.value, record.timestamp_ms, record.headers
        assert timestamp_ms is not None
        if self._clock is not None:
            self._clock.advance(key, timestamp_ms)
        if key is None or value is None:
            self._drop(record)
            return
        joined, forward = self._joined, self.forward
        for other_ms, other in matches:
            forward(Record(key, joined(key, value, other), latest(timestamp_ms, other_ms), headers))

    def close_idle(self) -> None:
        """Deletes the stored records of idle keys, on both sides. In an inner join, no results are waiting.

        It is called for the operator of the left side, the only one that has `idle`.
        """
        assert self.idle is not None
        for _, key_bytes in self.idle.remove_idle():
            self._delete_records(key_bytes)

    def _delete_records(self, key_bytes: bytes) -> None:
        for store in (self._other, self.context.store(self.settings.window)):
            remove_key(store.contents, key_bytes)

    def _drop(self, record: AnyRecord) -> None:
        self.context.drop(self.name, DropReason.NULL_KEY if record.key is None else DropReason.NULL_VALUE)


def _swapped(joiner: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    return lambda key, right, left: joiner(key, left, right)


class StreamJoinWindow(Operator):
    """Forwards every record to the join; before that, stores those that have a key and a value.

    They are stored first because a joiner may change a value in place.
    """

    def __init__(self, name: str, store: str) -> None:
        super().__init__(name)
        self.store_name = store

    def init(self, context: TaskContext) -> None:
        super().init(context)
        store: TypedWindowStore[Any, Any] = context.store(self.store_name)
        self._put = store.put

    def process(self, record: AnyRecord) -> None:
        if record.key is not None and record.value is not None:
            assert record.timestamp_ms is not None
            self._put(record.key, record.value, record.timestamp_ms)
        self.forward(record)
