"""The rows of a table, from the records of a topic or a stream."""

from __future__ import annotations

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator
from headrace.change import Change


class TableSource(Operator):
    """Each record replaces the row of its key, whatever its timestamp; `None` deletes it. Keeps rows if it has a store.

    Records without a key are dropped and counted.
    """

    def __init__(self, name: str, store: str | None, *, send_old_values: bool) -> None:
        super().__init__(name)
        self.store_name = store
        self.send_old_values = send_old_values

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store = None if self.store_name is None else context.store(self.store_name)

    def process(self, record: AnyRecord) -> None:
        key = record.key
        if key is None:
            self.context.drop(self.name, "null key")
            return
        old = None
        if self._store is not None:
            key_bytes = self._store.key_bytes(key)
            if self.send_old_values:
                row = self._store.read(key_bytes)
                old = None if row is None else row[0]
            self._store.write(key_bytes, record.value, record.timestamp_ms)
        self.forward(record.with_value(Change(record.value, old)))
