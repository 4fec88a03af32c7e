"""The join of a stream with a global table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator


class StreamGlobalJoin(Operator):
    """Each record with the row that the table has now for the key that `key_selector` names.

    Only the stream triggers; a result keeps key, timestamp and headers of its record. Without a row there is no
    result, or with `left` one with `None` in its place; so it is when the selected key is `None`. Records without a
    value are dropped and counted, as inner joins do with those that select no key.
    """

    def __init__(
        self,
        name: str,
        store: str,
        key_selector: Callable[[Any, Any], Any],
        joiner: Callable[[Any, Any], Any],
        *,
        left: bool,
    ) -> None:
        super().__init__(name)
        self._store_name = store
        self._key_selector = key_selector
        self._joiner = joiner
        self._left = left

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._rows = context.store(self._store_name)

    def process(self, record: AnyRecord) -> None:
        value = record.value
        if value is None:
            self.context.drop(self.name, "null value")
            return
        row_key = self._key_selector(record.key, value)
        if row_key is None and not self._left:
            self.context.drop(self.name, "null join key")
            return
        row = None if row_key is None else self._rows.get(row_key)
        if row is not None:
            self.forward(record.with_value(self._joiner(value, row[0])))
        elif self._left:
            self.forward(record.with_value(self._joiner(value, None)))
