"""The rows of a table, kept once more where operators of a later stage look them up."""

from __future__ import annotations

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator


class TableCopy(Operator):
    """Keeps each change's new value; of a versioned table, as a version."""

    def __init__(self, name: str, store: str) -> None:
        super().__init__(name)
        self._store_name = store

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store = context.store(self._store_name)

    def process(self, record: AnyRecord) -> None:
        self._store.put(record.key, record.value.new, record.timestamp_ms)
