"""The base of operators that use the rows of a table of their task."""

from __future__ import annotations

from typing import Any

from headrace._core.operator import Operator
from headrace._core.task.context import TaskContext


class TableLookup(Operator):
    """Finds the rows of a table, `_rows`, among the tables of the task."""

    def __init__(self, name: str, table: str) -> None:
        super().__init__(name)
        self.table_name = table

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._rows: Any = context.tables[self.table_name]
