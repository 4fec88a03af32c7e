"""reduce on a grouped stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.grouped_stream import accepts
from headrace._core.timestamps import latest
from headrace.change import Change
from headrace.record import Record


class StreamReduce(Operator):
    """The first value of a key starts its aggregate; `None` from the reducer deletes the row."""

    def __init__(self, name: str, store: str, reducer: Callable[[Any, Any], Any], *, send_old_values: bool) -> None:
        super().__init__(name)
        self._store_name = store
        self._reducer = reducer
        self._send_old_values = send_old_values

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store = context.store(self._store_name)

    def process(self, record: AnyRecord) -> None:
        if not accepts(record, self):
            return
        assert record.timestamp_ms is not None
        key, new, timestamp_ms = record.key, record.value, record.timestamp_ms
        key_bytes = self._store.key_bytes(key)
        row = self._store.read(key_bytes)
        if row is not None:
            new = self._reducer(row[0], new)
            timestamp_ms = latest(timestamp_ms, row[1])
        # The reducer may have changed the aggregate in place: what it was is read anew.
        old = self._store.read(key_bytes)[0] if self._send_old_values and row is not None else None
        self._store.write(key_bytes, new, timestamp_ms)
        self.forward(Record(key, Change(new, old), timestamp_ms, record.headers))
