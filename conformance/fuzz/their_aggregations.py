"""Rules of Kafka Streams for aggregations: what a first change replaces, and when final results are looked up.

The functions replace methods of the library's operators; see `their_rules`.
"""

from __future__ import annotations

from typing import Any

from headrace._core.laws import latest
from headrace._core.operators.aggregations.streams import StreamAggregate
from headrace._core.operators.windows.windowed_operator import WindowedOperator
from headrace._core.task.context import TaskContext
from headrace._state.stores.session import TypedSessionStore
from headrace.model.record import Change, Record
from headrace.model.time.windows import Windowed, sized_window

_aggregate = StreamAggregate.process
_init_windowed = WindowedOperator.init
_process_windowed = WindowedOperator.process
_emit_update = WindowedOperator._emit


def aggregate(self: Any, record: Any) -> None:
    """The first change of a key replaces the initial value."""
    forward = self.forward
    if self.send_old_values:
        self.forward = lambda result: forward(result.with_value(_replacing(self._initializer(), result.value)))
    try:
        _aggregate(self, record)
    finally:
        self.forward = forward


def emit_update(self: Any, record: Any, window: Any, change: Any, timestamp_ms: int) -> None:
    """The first change of a window replaces the initial value."""
    if self.settings.send_old_values:
        change = _replacing(self._initializer(), change)
    _emit_update(self, record, window, change, timestamp_ms)


def fold_sliding(self: Any, start_ms: int, row: Any, *, new: bool = False) -> None:  # noqa: ARG001
    """Every change replaces what the record was added to: in a new window the aggregate that it began with."""
    operator = self._operator
    if start_ms <= operator._last_closed_start(self._time_ms, operator._difference_ms):
        operator._drop_late(self._record, sized_window(start_ms, operator._difference_ms), self._time_ms)
        return
    base, result_ms = (operator._initializer(), self.timestamp_ms) if row is None else row
    value = operator._aggregator(self._key, self._record.value, base)
    old = base if operator.settings.send_old_values else None
    self._put(start_ms, value, old, latest(self.timestamp_ms, result_ms))


def init_windowed(self: Any, context: TaskContext) -> None:
    """Rows of windows with final results expire a millisecond later, so that those with no grace are found at all."""
    _init_windowed(self, context)
    if self._open is not None and not isinstance(self._store, TypedSessionStore):
        self._store._entries._retention_ms += 1


def process_windowed(self: Any, record: Any) -> None:
    """Adds the record to its windows, then forwards the final results that have not expired because of the record."""
    self.closing = None
    _process_windowed(self, record)
    if self._open is None or self.closing is None:
        return
    for windowed, value, timestamp_ms in self._open.remove_closed(record.key, self.closing):
        if _is_found(self._store, windowed):
            self.forward(Record(windowed, Change(value, None), timestamp_ms, record.headers))


def note_closed(self: Any, record: Any, last_end_ms: int) -> None:  # noqa: ARG001
    """Notes which windows the record closes."""
    self.closing = last_end_ms


def _replacing(initial: Any, change: Change[Any]) -> Change[Any]:
    return change if change.old is not None else Change(change.new, initial, change.is_latest)


def _is_found(store: Any, windowed: Windowed[Any]) -> bool:
    """Whether the search for final results finds one in the store. For sessions it always does, even expired ones."""
    return isinstance(store, TypedSessionStore) or store.fetch(windowed.key, windowed.window.start_ms) is not None
