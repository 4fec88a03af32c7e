"""join and left_join of a stream with a table by foreign key: records travel to the row's task and are joined there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.foreign_keys.messages import KeyedRecord
from headrace._core.operators.tables.lookup import TableLookup
from headrace._core.rows import row_for
from headrace.model.record import Record
from headrace.serdes import Serde


class StreamForeignKeySelect(Operator):
    """Forwards each record under its foreign key, with its own key inside.

    In an inner join, records without a foreign key are dropped: they have no row.
    """

    def __init__(
        self,
        name: str,
        foreign_key: Callable[[Any, Any], Any],
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        *,
        left: bool,
    ) -> None:
        super().__init__(name)
        self._foreign_key = foreign_key
        self._key_to_bytes = key_serde.serialize
        self._value_to_bytes = value_serde.serialize
        self._left = left

    def process(self, record: AnyRecord) -> None:
        value = self._value_to_bytes(record.value)
        if value is None:
            self.context.drop(self.name, DropReason.NULL_VALUE)
            return
        foreign = self._foreign_key(record.key, record.value)
        if foreign is None and not self._left:
            self.context.drop(self.name, DropReason.NULL_FOREIGN_KEY)
            return
        keyed = KeyedRecord(self._key_to_bytes(record.key), value)
        self.forward(Record(foreign, keyed, record.timestamp_ms, record.headers))


class StreamForeignKeyJoin(TableLookup):
    """Joins each record with the row of its foreign key; results have the record's own key and timestamp."""

    def __init__(
        self,
        name: str,
        table: str,
        joiner: Callable[[Any, Any, Any, Any], Any],
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        *,
        left: bool,
        versioned: bool,
    ) -> None:
        super().__init__(name, table)
        self._joiner = joiner
        self._read_key = key_serde.deserialize
        self._read_value = value_serde.deserialize
        self._left = left
        self._versioned = versioned

    def process(self, record: AnyRecord) -> None:
        row = row_for(self._rows, record, versioned=self._versioned)
        if row is not None or self._left:
            keyed: KeyedRecord = record.value
            key, value = self._read_key(keyed.key), self._read_value(keyed.value)
            result = self._joiner(key, record.key, value, None if row is None else row[0])
            self.forward(Record(key, result, record.timestamp_ms, record.headers))
