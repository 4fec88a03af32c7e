"""join, left_join and outer_join of two tables: one operator for the changes of each side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace._core.laws import latest
from headrace._core.operator import AnyRecord
from headrace._core.operators.tables.lookup import TableLookup
from headrace._core.operators.tables.stored import StoredTable
from headrace.model.record import Change


class TableSide(NamedTuple):
    """One side of a join of tables. `optional` says whether results may lack a row of this side.

    `other_optional` says the same of the other side.
    """

    is_left: bool
    optional: bool
    other_optional: bool


class TableJoin(TableLookup):
    """Joins each change of its table with the current row of the other table. Ignores changes of older versions.

    A result has the higher timestamp of the change and the other row. If the other table has no row, the deletion of a
    row that never existed is not forwarded.
    """

    def __init__(
        self, name: str, other: str, joiner: Callable[[Any, Any, Any], Any], side: TableSide, *, send_old_values: bool
    ) -> None:
        super().__init__(name, other)
        self._joiner = joiner
        self._side = side
        self._send_old_values = send_old_values

    def process(self, record: AnyRecord) -> None:
        change, timestamp_ms = record.value, record.timestamp_ms
        assert timestamp_ms is not None
        if not change.is_latest:
            return
        row = self._rows.get(record.key)
        if row is None:
            if not self._side.other_optional or (change.new is None and change.old is None):
                return
            other = None
        else:
            other, other_ms = row
            timestamp_ms = latest(timestamp_ms, other_ms)
        new = self._join(record.key, change.new, other)
        old = self._join(record.key, change.old, other) if self._send_old_values else None
        self.forward(record.with_value(Change(new, old)).with_timestamp(timestamp_ms))

    def _join(self, key: Any, value: Any, other: Any) -> Any:
        if value is None and (other is None or not self._side.optional):
            return None
        return self._joiner(key, value, other) if self._side.is_left else self._joiner(key, other, value)


class TableJoinMerge(StoredTable):
    """The joined table, which gets the results of both sides; stores its rows if it has a store.

    With `reads_old_values`, the old value of a change is the stored row, not the result that the join computed.
    """

    def __init__(self, name: str, store: str | None, *, reads_old_values: bool) -> None:
        super().__init__(name, store)
        self._reads_old_values = reads_old_values

    def process(self, record: AnyRecord) -> None:
        if self._store is None:
            self.forward(record)
            return
        old = self.stored_value(record.key) if self._reads_old_values else record.value.old
        self.forward_change(record, record.value.new, old)
