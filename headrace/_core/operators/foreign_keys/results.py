"""The last step of joins of tables by foreign key: the left side turns the answers that it receives into results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.foreign_keys.messages import Answer
from headrace._core.rows import Rows
from headrace._core.task.context import TaskContext
from headrace.serdes import Serde


class ForeignKeyLeftRows(Operator):
    """Remembers the left rows that the current input record changes.

    `ForeignKeyResolve` compares them with the left value in an answer, and ignores an answer to an older value.
    """

    def __init__(self, name: str, resolve: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> None:
        super().__init__(name)
        self._resolve = resolve
        self._key_to_bytes = key_serde.serialize
        self._value_to_bytes = value_serde.serialize

    def process(self, record: AnyRecord) -> None:
        if record.value.is_latest:
            changed = self.context.scratchpad(self._resolve)
            changed[self._key_to_bytes(record.key)] = self._value_to_bytes(record.value.new)


class ForeignKeyResolve(Operator):
    """Joins the two values of each answer into the result of a left row. Ignores answers if the row has changed since.

    Answers arrive in the order of the input records that caused them, so only the current input record can have changed
    the row since. `ForeignKeyLeftRows` has remembered its changes. `left_table` is given only if a left row may stay
    subscribed to a foreign key that it no longer has: then the row is looked up there. The joiner gets the foreign key
    of the left row if `foreign_key` is given, else `None`.
    """

    def __init__(
        self,
        name: str,
        joiner: Callable[[Any, Any, Any, Any], Any],
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        foreign_value_serde: Serde[Any],
        *,
        left: bool,
        foreign_key: Callable[[Any, Any], Any] | None = None,
        left_table: str | None = None,
    ) -> None:
        super().__init__(name)
        self._joiner = joiner
        self._foreign_key = foreign_key
        self._left_table = left_table
        self._value_to_bytes = value_serde.serialize
        self._key_to_bytes = key_serde.serialize
        self._read_value = value_serde.deserialize
        self._read_foreign_value = foreign_value_serde.deserialize
        self._left = left

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._rows: Rows | None = None if self._left_table is None else context.tables[self._left_table]

    def process(self, record: AnyRecord) -> None:
        answer: Answer = record.value
        if self._has_changed(record.key, answer.left):
            return
        has_result = answer.left is not None and (answer.right is not None or self._left)
        result = None
        if has_result:
            left, right = self._read_value(answer.left), self._read_foreign_value(answer.right)
            foreign = None if self._foreign_key is None else self._foreign_key(record.key, left)
            result = self._joiner(record.key, foreign, left, right)
        self.forward(record.with_value(result))

    def _has_changed(self, key: Any, left: bytes | None) -> bool:
        """Whether the value of a left row is no longer `left`, the value that was answered."""
        if self._rows is not None:
            row = self._rows.get(key)
            return self._value_to_bytes(None if row is None else row[0]) != left
        changed = self.context.scratchpad(self.name)
        return bool(changed) and changed.get(self._key_to_bytes(key), left) != left
