"""The rows of a table, kept once more where operators of a later stage look them up."""

from __future__ import annotations

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator


class TableCopy(Operator):
    """Keeps each change's new value; of a versioned table, as a version."""

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._rows = context.tables[self.name]

    def process(self, record: AnyRecord) -> None:
        self._rows.put(record.key, record.value.new, record.timestamp_ms)
