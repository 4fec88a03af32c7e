"""Joins of tables by foreign key, on the side of the foreign key: which rows refer to it, and their answers."""

from __future__ import annotations

from typing import Any

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator
from headrace._core.rows import Rows
from headrace._state.composite import beyond, escaped
from headrace.record import Record
from headrace.serdes import Serde
from headrace.subscription import Answer, Instruction, Subscription


class ForeignKeyReceive(Operator):
    """Keeps which rows refer to which foreign key: the value of each by both keys, in bytes."""

    def __init__(self, name: str, store: str, foreign_serde: Serde[Any]) -> None:
        super().__init__(name)
        self._store_name = store
        self._foreign_to_bytes = foreign_serde.serialize

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._subscriptions = context.store(self._store_name)

    def process(self, record: AnyRecord) -> None:
        subscription: Subscription = record.value
        foreign = self._foreign_to_bytes(record.key)
        if foreign is not None:
            place = escaped(foreign) + subscription.key
            self._subscriptions.put(place, subscription.value)
            self.context.noted(self._store_name)[place] = subscription.number
        if subscription.instruction is not Instruction.FORGET:
            self.forward(record)


class ForeignKeyAnswer(Operator):
    """Answers a row that came or went, with the higher timestamp of the two rows."""

    def __init__(
        self, name: str, foreign_table: str, key_serde: Serde[Any], foreign_value_serde: Serde[Any], *, left: bool
    ) -> None:
        super().__init__(name)
        self._foreign_table = foreign_table
        self._read_key = key_serde.deserialize
        self._foreign_value_to_bytes = foreign_value_serde.serialize
        self._left = left

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._rows: Rows = context.tables[self._foreign_table]

    def process(self, record: AnyRecord) -> None:
        subscription, timestamp_ms = record.value, record.timestamp_ms
        assert timestamp_ms is not None
        row = None if record.key is None else self._rows.get(record.key)
        if row is not None:
            timestamp_ms = max(timestamp_ms, row[1])
        elif subscription.instruction is Instruction.ANSWER_IF_FOUND:
            return
        # In an inner join, a row without a partner has no result.
        found = row is not None or self._left
        left = subscription.value if found else None
        right = None if row is None else self._foreign_value_to_bytes(row[0])
        answer = Answer(left, right, subscription.number)
        self.forward(Record(self._read_key(subscription.key), answer, timestamp_ms, record.headers))


class ForeignKeyChange(Operator):
    """Answers all rows that refer to a foreign row as that changes, by their key bytes, with the change's timestamp.

    A row that refers to itself, in a join of a table `with_itself` or `with_part` of itself, changes too, and is
    answered for that; here only if it left that part, which an inner join has no other answer for.
    """

    def __init__(
        self,
        name: str,
        store: str,
        key_serde: Serde[Any],
        foreign_serde: Serde[Any],
        foreign_value_serde: Serde[Any],
        *,
        left: bool,
        with_itself: bool,
        with_part: bool,
    ) -> None:
        super().__init__(name)
        self._store_name = store
        self._read_key = key_serde.deserialize
        self._foreign_to_bytes = foreign_serde.serialize
        self._foreign_value_to_bytes = foreign_value_serde.serialize
        self._left = left
        self._with_itself = with_itself
        self._with_part = with_part

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._subscriptions = context.store(self._store_name).contents

    def process(self, record: AnyRecord) -> None:
        change = record.value
        if not change.is_latest:
            return
        foreign = self._foreign_to_bytes(record.key)
        assert foreign is not None
        prefix = escaped(foreign)
        new = self._foreign_value_to_bytes(change.new)
        gone = new is None and not self._left
        itself = foreign if self._with_itself or (self._with_part and not gone) else None
        numbers = self.context.noted(self._store_name)
        for place, value in self._subscriptions.range(prefix, beyond(prefix)):
            key = place[len(prefix) :]
            if key != itself:
                answer = Answer(None if gone else value, new, numbers.get(place, 0))
                self.forward(Record(self._read_key(key), answer, record.timestamp_ms, record.headers))
