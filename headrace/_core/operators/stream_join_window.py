"""The records of one side of a join of streams, kept for the other side."""

from __future__ import annotations

from typing import Any

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator
from headrace._state.window_store import WindowStore


class StreamJoinWindow(Operator):
    """Keeps each record after it has met those of the other side, so that in a self-join none meets itself twice."""

    def __init__(self, name: str, store: str) -> None:
        super().__init__(name)
        self.store_name = store

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store: WindowStore[Any, Any] = context.store(self.store_name)

    def process(self, record: AnyRecord) -> None:
        store, key, value = self._store, record.key, record.value
        if key is None or value is None:
            self.forward(record)
            return
        assert record.timestamp_ms is not None
        raw = store.value_serde.serialize(value)  # as it came: a joiner may change it
        self.forward(record)
        store.put_bytes(store.key_bytes(key), raw, record.timestamp_ms)
