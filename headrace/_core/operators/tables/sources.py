"""Tables from the records of a topic or a stream, plain and versioned; and copies of an earlier stage's tables."""

from __future__ import annotations

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord
from headrace._core.operators.tables.lookup import TableLookup
from headrace._core.operators.tables.stored import StoredTable
from headrace._state.stores.versioned import NEWEST, NOT_PUT
from headrace.model.record import Change


class TableSource(StoredTable):
    """Turns each record into the new row of its key, whatever its timestamp; a value of `None` deletes the row.

    It stores the rows if it has a store. Records without a key are dropped and counted.
    """

    def process(self, record: AnyRecord) -> None:
        key = record.key
        if key is None:
            self.context.drop(self.name, DropReason.NULL_KEY)
            return
        old = None
        if self._store is not None:
            key_bytes = self._store.key_bytes(key)
            if self.send_old_values:
                row = self._store.read(key_bytes)
                old = None if row is None else row[0]
            self._store.write(key_bytes, record.value, record.timestamp_ms)
        self.forward(record.with_value(Change(record.value, old)))


class VersionedTableSource(StoredTable):
    """Turns each record into a version of its key's row; one older than the history is dropped and counted.

    The old value of a change is the newest version so far, even if the change itself is an earlier version.
    """

    def process(self, record: AnyRecord) -> None:
        key = record.key
        if key is None:
            self.context.drop(self.name, DropReason.NULL_KEY)
            return
        latest = self._store.get(key) if self.send_old_values else None
        valid_to_ms = self._store.put(key, record.value, record.timestamp_ms)
        if valid_to_ms == NOT_PUT:
            self.context.drop(self.name, DropReason.BEFORE_HISTORY)
            return
        old = None if latest is None else latest.value
        self.forward(record.with_value(Change(record.value, old, is_latest=valid_to_ms == NEWEST)))


class TableCopy(TableLookup):
    """Stores the new value of each change of an earlier stage's table; of a versioned table, as a version."""

    def process(self, record: AnyRecord) -> None:
        self._rows.put(record.key, record.value.new, record.timestamp_ms)
