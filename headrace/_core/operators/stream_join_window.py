"""The records of one side of a join of streams, kept for the other side."""

from __future__ import annotations

from typing import Any

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator
from headrace._state.window_store import WindowStore


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
