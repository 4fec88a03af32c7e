"""join and left_join of a stream with a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator
from headrace._core.rows import row_for


class StreamTableJoin(Operator):
    """Each record with the row of its key: the current one, or of a `versioned` table that of the record's timestamp.

    Only records trigger; results keep their timestamps. A record without a key has no row.
    """

    def __init__(
        self, name: str, table: str, joiner: Callable[[Any, Any], Any], *, left: bool, versioned: bool
    ) -> None:
        super().__init__(name)
        self.table_name = table
        self._joiner = joiner
        self.left = left
        self.versioned = versioned

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._rows = context.tables[self.table_name]

    def joined(self, value: Any, row_value: Any) -> Any:
        """The result for a record and a row."""
        return self._joiner(value, row_value)

    def process(self, record: AnyRecord) -> None:
        if self._accepts(record):
            self._join(record)

    def _accepts(self, record: AnyRecord) -> bool:
        """Whether a record takes part; one that does not is counted."""
        if record.value is None:
            self.context.drop(self.name, "null value")
            return False
        if record.key is None and not self.left:
            self.context.drop(self.name, "null key")
            return False
        return True

    def _join(self, record: AnyRecord) -> None:
        row = row_for(self._rows, record, versioned=self.versioned)
        if row is not None or self.left:
            self.forward(record.with_value(self.joined(record.value, None if row is None else row[0])))
