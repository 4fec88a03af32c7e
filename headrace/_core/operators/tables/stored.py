"""The base of operators whose results are the rows of a table, stored with or without earlier versions."""

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
        self.store_name = store

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store: Any = None if self.store_name is None else context.store(self.store_name)

    def stored_value(self, key: Any) -> Any:
        """The value of the stored row, in a versioned store of its newest version; `None` if there is none."""
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


class TableWithOldValues(StoredTable):
    """The base of tables that put old values into their changes only if `send_old_values` is set."""

    def __init__(self, name: str, store: str | None, *, send_old_values: bool) -> None:
        super().__init__(name, store)
        self.send_old_values = send_old_values

    @property
    def forwards_old_values(self) -> bool:
        """Whether the children get old values. The record cache gets them in any case."""
        return self.send_old_values if self.cache is None else self.cache.send_old_values
