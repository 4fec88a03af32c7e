"""Joins of tables by foreign key, back with the left table: answers become results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace.serdes import Serde
from headrace.subscription import Answer


class ForeignKeyResolve(Operator):
    """Joins the values of each answer.

    Answers come in the order of the input records that caused them, so none is ever out of date.
    """

    def __init__(
        self, name: str, joiner: Callable[[Any, Any], Any], value_serde: Serde[Any], foreign_value_serde: Serde[Any]
    ) -> None:
        super().__init__(name)
        self._joiner = joiner
        self._read_value = value_serde.deserialize
        self._read_foreign_value = foreign_value_serde.deserialize

    def process(self, record: AnyRecord) -> None:
        answer: Answer = record.value
        left = self._read_value(answer.left)
        result = None if left is None else self._joiner(left, self._read_foreign_value(answer.right))
        self.forward(record.with_value(result))
