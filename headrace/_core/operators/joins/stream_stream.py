"""Inner joins of two streams, one side each, and the window in which a side keeps its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace._core.laws import latest
from headrace._core.operator import AnyRecord, Operator
from headrace._core.task.context import TaskContext
from headrace._core.time.join_clock import ClockSettings, JoinClock
from headrace._state.layouts.bykey import forget
from headrace._state.stores.window import WindowStore
from headrace.model.record import Record

Partners = Sequence[tuple[int, Any]]  # timestamps and values


class JoinSettings(NamedTuple):
    """One side of a join: names of its own store and of the other side's, and how far apart partners may be.

    `before_ms` and `after_ms` are as seen from this side. `unjoined` names the store of records without a partner, if
    there is an outer side; `is_outer` and `other_is_outer` tell which.
    """

    window: str
    other: str
    unjoined: str | None
    joiner: Callable[[Any, Any], Any]
    is_left: bool
    is_outer: bool
    other_is_outer: bool
    before_ms: int
    after_ms: int
    grace_ms: int
    clock: ClockSettings


class StreamJoin(Operator):
    """Each record meets those of the other side within the windows that are still kept, however late it comes.

    Both sides trigger. Partners come by timestamp, then by arrival. A result has the higher timestamp of the two, and
    the headers of the record that came last. An inner join needs no time of its own: it keeps one only for each key.
    """

    def __init__(self, name: str, settings: JoinSettings) -> None:
        super().__init__(name)
        self.settings = settings
        self._before_ms, self._after_ms = settings.before_ms, settings.after_ms
        self._joined = settings.joiner if settings.is_left else _swapped(settings.joiner)

    def init(self, context: TaskContext) -> None:
        super().init(context)
        settings = self.settings
        self._other: WindowStore[Any, Any] = context.store(settings.other)
        self._clock: JoinClock | None = None
        if settings.unjoined is not None or settings.clock.key_times is not None:
            self._clock = JoinClock.of(context, settings.clock)
            if settings.is_left:
                self.idle = self._clock.idle  # one of the two sides closes for both

    def process(self, record: AnyRecord) -> None:
        key, timestamp_ms = record.key, record.timestamp_ms
        assert timestamp_ms is not None
        if key is None or record.value is None:
            self.meet(record, ())
            return
        other, from_ms, to_ms = self._other, timestamp_ms - self._before_ms, max(0, timestamp_ms + self._after_ms)
        self.meet(record, other.fetch_duplicates(other.key_bytes(key), from_ms, to_ms))

    def meet(self, record: AnyRecord, partners: Partners) -> None:
        """Handles a record whose partners are known; one without a key or a value has none."""
        key, value, timestamp_ms, headers = record.key, record.value, record.timestamp_ms, record.headers
        assert timestamp_ms is not None
        if self._clock is not None:
            self._clock.advance(key, timestamp_ms)
        if key is None or value is None:
            self._drop(record)
            return
        joined, forward = self._joined, self.forward
        for other_ms, other in partners:
            forward(Record(key, joined(value, other), latest(timestamp_ms, other_ms), headers))

    def close_idle(self) -> None:
        """The records of a key that is idle are forgotten on both sides."""
        assert self.idle is not None
        for _, key_bytes in self.idle.take():
            self._forget(key_bytes)

    def _forget(self, key_bytes: bytes) -> None:
        for store in (self._other, self.context.store(self.settings.window)):
            forget(store.contents, key_bytes)

    def _drop(self, record: AnyRecord) -> None:
        self.context.drop(self.name, "null key" if record.key is None else "null value")


def _swapped(joiner: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda right, left: joiner(left, right)


class StreamJoinWindow(Operator):
    """Keeps each record that can find a partner, as it came: a joiner may change it."""

    def __init__(self, name: str, store: str) -> None:
        super().__init__(name)
        self.store_name = store

    def init(self, context: TaskContext) -> None:
        super().init(context)
        store: WindowStore[Any, Any] = context.store(self.store_name)
        self._put = store.put

    def process(self, record: AnyRecord) -> None:
        if record.key is not None and record.value is not None:
            assert record.timestamp_ms is not None
            self._put(record.key, record.value, record.timestamp_ms)
        self.forward(record)
