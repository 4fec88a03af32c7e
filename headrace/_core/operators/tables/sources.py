"""Tables from the records of a topic or a stream, with or without versions; copies of the tables of earlier stages."""

from __future__ import annotations

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord
from headrace._core.operators.tables.lookup import TableLookup
from headrace._core.operators.tables.stored import TableWithOldValues
from headrace._state.stores.versioned import NEWEST, NOT_PUT
from headrace.model.record import Change


class TableSource(TableWithOldValues):
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


class VersionedTableSource(TableWithOldValues):
    """Turns each record into a version of its key's row. Drops and counts records older than the history.

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
    """Stores the changes of a table of an earlier stage, as its copy. A versioned table has a copy with versions."""

    def process(self, record: AnyRecord) -> None:
        self._rows.put(record.key, record.value.new, record.timestamp_ms)
