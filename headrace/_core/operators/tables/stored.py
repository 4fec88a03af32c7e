"""The base of table operators that may store their rows, with or without earlier versions."""

from __future__ import annotations

from typing import Any

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord, Operator
from headrace._core.task.context import TaskContext
from headrace._state.stores.versioned import NEWEST, NOT_PUT
from headrace.model.record import Change


class StoredTable(Operator):
    """Stores the rows that it forwards if it has a store.

    In a versioned store, a change need not be the newest version of its row, and a change older than the history is
    dropped and counted. In a store without versions, the last change replaces the row.
    """

    def __init__(self, name: str, store: str | None = None) -> None:
        super().__init__(name)
        self._store_name = store

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store = None if self._store_name is None else context.store(self._store_name)

    def stored_value(self, key: Any) -> Any:
        """The value of the stored row, in a versioned store of its newest version; `None` if there is none."""
        assert self._store is not None
        row = self._store.read(self._store.key_bytes(key))
        return None if row is None else row[0]

    def forward_change(self, record: AnyRecord, new: Any, old: Any) -> None:
        """Stores the new row, and forwards the change with key, timestamp and headers of `record`, its cause."""
        is_latest = record.value.is_latest
        if self._store is not None:
            valid_to_ms = self._store.write(self._store.key_bytes(record.key), new, record.timestamp_ms)
            if valid_to_ms == NOT_PUT:
                self.context.drop(self.name, DropReason.BEFORE_HISTORY)
                return
            is_latest = valid_to_ms == NEWEST
        self.forward(record.with_value(Change(new, old, is_latest)))
