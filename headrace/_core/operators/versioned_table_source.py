"""The rows of a versioned table."""

from __future__ import annotations

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator
from headrace._state.versioned_store import NEWEST, NOT_PUT
from headrace.change import Change


class VersionedTableSource(Operator):
    """Each record becomes a version of its row; one older than the history is dropped and counted.

    The old value of a change is the newest version before it, also when the change itself came too late to be newest.
    """

    def __init__(self, name: str, store: str, *, send_old_values: bool) -> None:
        super().__init__(name)
        self._store_name = store
        self._send_old_values = send_old_values

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store = context.store(self._store_name)

    def process(self, record: AnyRecord) -> None:
        key = record.key
        if key is None:
            self.context.drop(self.name, "null key")
            return
        latest = self._store.get(key) if self._send_old_values else None
        valid_to_ms = self._store.put(key, record.value, record.timestamp_ms)
        if valid_to_ms == NOT_PUT:
            self.context.drop(self.name, "older than the history of the versioned store")
            return
        old = None if latest is None else latest.value
        self.forward(record.with_value(Change(record.value, old, is_latest=valid_to_ms == NEWEST)))
