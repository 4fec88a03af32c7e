"""Joins of tables by foreign key.

The foreign row is usually in another task. The left side therefore sends each of its rows there as a subscription. The
right side stores it and answers with both values, now and whenever the foreign row changes. The left side joins the
values of the answers, so results are partitioned by the left key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.laws import latest
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.foreign_keys.messages import Answer, Instruction, Subscription
from headrace._core.rows import Rows
from headrace._core.task.context import TaskContext
from headrace._state.bytes.composite import end_of_key, escape_key
from headrace.model.record import Record
from headrace.serdes import Serde

_Message = tuple[Any, Instruction, bool]  # the foreign key, the instruction, whether the new value goes with it


class ForeignKeySubscribe(Operator):
    """Unsubscribes a row from its old foreign key and subscribes it to the new one.

    In a left join every row has a result, also without a foreign key. In an inner join a row without one has no result;
    it is dropped and counted. Foreign keys are equal if their bytes are.
    """

    def __init__(
        self,
        name: str,
        foreign_key: Callable[[Any, Any], Any],
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        foreign_serde: Serde[Any],
        *,
        left: bool,
    ) -> None:
        super().__init__(name)
        self._foreign_key = foreign_key
        self._key_to_bytes = key_serde.serialize
        self._value_to_bytes = value_serde.serialize
        self._foreign_to_bytes = foreign_serde.serialize
        self._decide = self._left if left else self._inner

    def process(self, record: AnyRecord) -> None:
        change = record.value
        if not change.is_latest:
            return
        key, new = record.key, change.new
        old_foreign = None if change.old is None else self._foreign_key(key, change.old)
        new_foreign = None if new is None else self._foreign_key(key, new)
        if new is None and change.old is None:
            return
        key_bytes = self._key_to_bytes(key)
        assert key_bytes is not None
        notes = self.context.scratchpad(self.name)
        number = notes["changes"] = notes.get("changes", 0) + 1
        for foreign, instruction, with_value in self._decide(new, old_foreign, new_foreign):
            value = self._value_to_bytes(new) if with_value else None
            subscription = Subscription(instruction, key_bytes, value, number)
            self.forward(Record(foreign, subscription, record.timestamp_ms, record.headers))

    def _left(self, new: Any, old_foreign: Any, new_foreign: Any) -> list[_Message]:
        if new is None:
            # The result is deleted whether or not there is a foreign row, so the message needs no foreign key.
            unsubscribe: list[_Message] = (
                [] if old_foreign is None else [(old_foreign, Instruction.DELETE_SILENTLY, False)]
            )
            return [*unsubscribe, (None, Instruction.DELETE_RESULT, False)]
        subscribe: _Message = (new_foreign, Instruction.ANSWER, True)
        if old_foreign is None or self._same_key(old_foreign, new_foreign):
            return [subscribe]
        return [(old_foreign, Instruction.DELETE_SILENTLY, False), subscribe]

    def _inner(self, new: Any, old_foreign: Any, new_foreign: Any) -> list[_Message]:
        if new_foreign is None:
            if new is not None:
                self.context.drop(self.name, "null foreign key")
            return [] if old_foreign is None else [(old_foreign, Instruction.DELETE_RESULT, False)]
        if old_foreign is None or self._same_key(old_foreign, new_foreign):
            return [(new_foreign, Instruction.ANSWER_IF_MATCHED, True)]
        # The row may have a result with the old foreign row: an answer must delete it if there is no new one.
        return [(old_foreign, Instruction.DELETE_SILENTLY, False), (new_foreign, Instruction.ANSWER, True)]

    def _same_key(self, old: Any, new: Any) -> bool:
        return self._foreign_to_bytes(old) == self._foreign_to_bytes(new)


class ForeignKeyReceive(Operator):
    """Stores which rows subscribe to which foreign key: the left value by both keys, in bytes."""

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
            entry_key = escape_key(foreign) + subscription.key
            self._subscriptions.put(entry_key, subscription.value)
            self.context.scratchpad(self._store_name)[entry_key] = subscription.number
        if subscription.instruction is not Instruction.DELETE_SILENTLY:
            self.forward(record)


class ForeignKeyAnswer(Operator):
    """Answers a subscription, with the higher timestamp of the two rows."""

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
            timestamp_ms = latest(timestamp_ms, row[1])
        elif subscription.instruction is Instruction.ANSWER_IF_MATCHED:
            return
        # In an inner join, an unmatched row has no result: an answer without a left value deletes it.
        has_result = row is not None or self._left
        left = subscription.value if has_result else None
        right = None if row is None else self._foreign_value_to_bytes(row[0])
        answer = Answer(left, right, subscription.number)
        self.forward(Record(self._read_key(subscription.key), answer, timestamp_ms, record.headers))


class ForeignKeyChange(Operator):
    """Answers all subscriptions to a foreign row when it changes, by their key bytes, with the change's timestamp.

    In a join of a table `with_itself`, or `with_part` of itself (a filter of it), a row may subscribe to itself. The
    change of the left row causes its answer then, and none is sent from here. One case remains: in an inner join, the
    row leaves the part. Its subscription goes unanswered, and only the answer from here deletes the result.
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
        prefix = escape_key(foreign)
        new = self._foreign_value_to_bytes(change.new)
        deleted = new is None and not self._left
        itself = foreign if self._with_itself or (self._with_part and not deleted) else None
        numbers = self.context.scratchpad(self._store_name)
        for entry_key, value in self._subscriptions.range(prefix, end_of_key(prefix)):
            key = entry_key[len(prefix) :]
            if key != itself:
                answer = Answer(None if deleted else value, new, numbers.get(entry_key, 0))
                self.forward(Record(self._read_key(key), answer, record.timestamp_ms, record.headers))


class ForeignKeyResolve(Operator):
    """Joins the values of each answer into a result of the left row.

    Answers arrive in the order of the input records that caused them. If one input record changes a row twice, or
    changes both tables, answers of different tasks may overtake each other: those to an earlier state of the row are
    ignored.
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
        latest, key = self.context.scratchpad(self.name), self._key_to_bytes(record.key)
        if answer.number < latest.setdefault(key, answer.number):
            return
        latest[key] = answer.number
        left = self._read_value(answer.left)
        result = None if left is None else self._joiner(left, self._read_foreign_value(answer.right))
        self.forward(record.with_value(result))
