"""Joins of tables by foreign key.

The foreign row is usually in another task. The left side therefore sends each of its rows there as a subscription. The
right side stores the subscription and answers with the values of both rows, now and whenever the foreign row changes.
The left side joins the two values of each answer, so results are partitioned by the left key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace._core.drop_reasons import DropReason
from headrace._core.laws import latest
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.foreign_keys.messages import Answer, Instruction, Subscription
from headrace._core.operators.tables.lookup import TableLookup
from headrace._core.task.context import TaskContext
from headrace._state.bytes.composite import end_of_key, escape_key
from headrace.model.record import Record
from headrace.serdes import Serde

_Message = tuple[Any, Instruction]  # the foreign key, the instruction


class ForeignKeySubscribe(Operator):
    """Unsubscribes a row from its old foreign key and subscribes it to the new one.

    In a left join every row has a result, also without a foreign key. In an inner join a row without one has no result;
    it is dropped and counted. Foreign keys are equal if their bytes are.

    In an inner join, a subscription is answered only if the foreign row exists, unless a result may have to be deleted.
    That is so if the foreign key has changed. It is also so if the same input record has already deleted the result:
    the left side ignores the answer to that deletion, because the row has changed since.
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
        key_bytes, value = self._key_to_bytes(key), self._value_to_bytes(new)
        assert key_bytes is not None
        for foreign, instruction in self._decide(key_bytes, new, old_foreign, new_foreign):
            subscription = Subscription(instruction, key_bytes, value)
            self.forward(Record(foreign, subscription, record.timestamp_ms, record.headers))

    def _left(self, _: bytes, new: Any, old_foreign: Any, new_foreign: Any) -> list[_Message]:
        if new is None:
            # The result is deleted whether or not there is a foreign row, so the message needs no foreign key.
            unsubscribe: list[_Message] = [] if old_foreign is None else [(old_foreign, Instruction.DELETE_SILENTLY)]
            return [*unsubscribe, (None, Instruction.DELETE_RESULT)]
        subscribe: _Message = (new_foreign, Instruction.ANSWER)
        if old_foreign is None or self._same_key(old_foreign, new_foreign):
            return [subscribe]
        return [(old_foreign, Instruction.DELETE_SILENTLY), subscribe]

    def _inner(self, key_bytes: bytes, new: Any, old_foreign: Any, new_foreign: Any) -> list[_Message]:
        deleting = self.context.scratchpad(self.name)
        if new is not None and new_foreign is None:
            self.context.drop(self.name, DropReason.NULL_FOREIGN_KEY)
        if old_foreign is None or (new_foreign is not None and self._same_key(old_foreign, new_foreign)):
            if new_foreign is None:
                return [(None, Instruction.DELETE_RESULT)] if key_bytes in deleting else []
            return [(new_foreign, Instruction.ANSWER if key_bytes in deleting else Instruction.ANSWER_IF_MATCHED)]
        deleting[key_bytes] = True
        if new_foreign is None:
            return [(old_foreign, Instruction.DELETE_RESULT)]
        # The row may have a result with the old foreign row: an answer must delete it if there is no new one.
        return [(old_foreign, Instruction.DELETE_SILENTLY), (new_foreign, Instruction.ANSWER)]

    def _same_key(self, old: Any, new: Any) -> bool:
        return self._foreign_to_bytes(old) == self._foreign_to_bytes(new)


class ForeignKeyReceive(Operator):
    """Stores the subscriptions of left rows to foreign rows, or deletes them. Forwards those that are to be answered.

    A subscription is stored under the foreign key and the left key, with the serialized left value.

    If the same input record first deletes the foreign row and then changes the left row, the left side ignores the
    answer to the deletion, because the left row has changed since. The subscription is therefore always answered.
    """

    def __init__(self, name: str, store: str, foreign_serde: Serde[Any]) -> None:
        super().__init__(name)
        self._store_name = store
        self._foreign_to_bytes = foreign_serde.serialize

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._subscriptions = context.store(self._store_name)

    def process(self, record: AnyRecord) -> None:
        subscription: Subscription = record.value
        instruction = subscription.instruction
        foreign = self._foreign_to_bytes(record.key)
        if foreign is not None:
            entry_key = escape_key(foreign) + subscription.key
            if foreign in self.context.scratchpad(self._store_name):
                before = self._subscriptions.get(entry_key)
                if instruction is Instruction.ANSWER_IF_MATCHED and before not in (None, subscription.value):
                    record = record.with_value(msgspec.structs.replace(subscription, instruction=Instruction.ANSWER))
            is_kept = instruction in (Instruction.ANSWER_IF_MATCHED, Instruction.ANSWER)
            self._subscriptions.put(entry_key, subscription.value if is_kept else None)
        if instruction is not Instruction.DELETE_SILENTLY:
            self.forward(record)


class ForeignKeyAnswer(TableLookup):
    """Answers subscriptions: sends the values of the left row and of the foreign row back to the left row's task.

    An answer has the higher timestamp of the two rows. If the foreign row does not exist, `ANSWER_IF_MATCHED` gets no
    answer. The answer to `DELETE_RESULT` has no foreign value.
    """

    def __init__(self, name: str, foreign_table: str, key_serde: Serde[Any], foreign_value_serde: Serde[Any]) -> None:
        super().__init__(name, foreign_table)
        self._read_key = key_serde.deserialize
        self._foreign_value_to_bytes = foreign_value_serde.serialize

    def process(self, record: AnyRecord) -> None:
        subscription, timestamp_ms = record.value, record.timestamp_ms
        assert timestamp_ms is not None
        row = None if record.key is None else self._rows.get(record.key)
        if row is not None:
            timestamp_ms = latest(timestamp_ms, row[1])
        elif subscription.instruction is Instruction.ANSWER_IF_MATCHED:
            return
        has_partner = subscription.instruction is not Instruction.DELETE_RESULT
        right = self._foreign_value_to_bytes(row[0]) if row is not None and has_partner else None
        answer = Answer(subscription.value, right)
        self.forward(Record(self._read_key(subscription.key), answer, timestamp_ms, record.headers))


class ForeignKeyChange(Operator):
    """When a row of the right table changes, sends an answer to every left row that is subscribed to its key.

    The answers are sent in the order of the left key bytes, and have the timestamp of the change.
    """

    def __init__(
        self,
        name: str,
        store: str,
        key_serde: Serde[Any],
        foreign_serde: Serde[Any],
        foreign_value_serde: Serde[Any],
    ) -> None:
        super().__init__(name)
        self._store_name = store
        self._read_key = key_serde.deserialize
        self._foreign_to_bytes = foreign_serde.serialize
        self._foreign_value_to_bytes = foreign_value_serde.serialize

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
        if new is None:
            self.context.scratchpad(self._store_name)[foreign] = True
        for entry_key, left in self._subscriptions.range(prefix, end_of_key(prefix)):
            key = self._read_key(entry_key[len(prefix) :])
            self.forward(Record(key, Answer(left, new), record.timestamp_ms, record.headers))
