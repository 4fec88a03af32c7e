"""Joins of tables by foreign key, back with the left table: answers become results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace.serdes import Serde
from headrace.subscription import Answer


class ForeignKeyResolve(Operator):
    """Joins the values of each answer.

    Answers come in the order of the input records that caused them. Only where one of these changes a row twice, or
    both tables, answers of different tasks may overtake each other: those to an earlier state of the row are left out.
    """

    def __init__(
        self,
        name: str,
        joiner: Callable[[Any, Any], Any],
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        foreign_value_serde: Serde[Any],
    ) -> None:
        super().__init__(name)
        self._joiner = joiner
        self._key_to_bytes = key_serde.serialize
        self._read_value = value_serde.deserialize
        self._read_foreign_value = foreign_value_serde.deserialize

    def process(self, record: AnyRecord) -> None:
        answer: Answer = record.value
        latest, key = self.context.noted(self.name), self._key_to_bytes(record.key)
        if answer.number < latest.setdefault(key, answer.number):
            return
        latest[key] = answer.number
        left = self._read_value(answer.left)
        result = None if left is None else self._joiner(left, self._read_foreign_value(answer.right))
        self.forward(record.with_value(result))
