"""Joins of tables by foreign key, where the left table changes: rows are sent to the side of their foreign key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace.record import Record
from headrace.serdes import Serde
from headrace.subscription import Instruction, Subscription

_Sent = tuple[Any, Instruction, bool]  # the foreign key, what to do there, whether the new value goes with it


class ForeignKeySubscribe(Operator):
    """Tells the side of the old foreign key to forget a row, and that of the new one to keep it and to answer.

    In a left join every row has a result, also one without a foreign key. In an inner join a row without one has none;
    it is dropped and counted. Foreign keys are the same if their bytes are.
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
        noted = self.context.noted(self.name)
        number = noted["changes"] = noted.get("changes", 0) + 1
        for foreign, instruction, with_value in self._decide(new, old_foreign, new_foreign):
            value = self._value_to_bytes(new) if with_value else None
            subscription = Subscription(instruction, key_bytes, value, number)
            self.forward(Record(foreign, subscription, record.timestamp_ms, record.headers))

    def _left(self, new: Any, old_foreign: Any, new_foreign: Any) -> list[_Sent]:
        if new is None:
            # The result is deleted, whatever the foreign row.
            gone: list[_Sent] = [] if old_foreign is None else [(old_foreign, Instruction.FORGET, False)]
            return [*gone, (None, Instruction.FORGET_AND_DELETE, False)]
        kept: _Sent = (new_foreign, Instruction.ANSWER, True)
        if old_foreign is None or self._same(old_foreign, new_foreign):
            return [kept]
        return [(old_foreign, Instruction.FORGET, False), kept]

    def _inner(self, new: Any, old_foreign: Any, new_foreign: Any) -> list[_Sent]:
        if new_foreign is None:
            if new is not None:
                self.context.drop(self.name, "null foreign key")
            return [] if old_foreign is None else [(old_foreign, Instruction.FORGET_AND_DELETE, False)]
        if old_foreign is None or self._same(old_foreign, new_foreign):
            return [(new_foreign, Instruction.ANSWER_IF_FOUND, True)]
        # The row had a result, perhaps: without a new partner it has to go.
        return [(old_foreign, Instruction.FORGET, False), (new_foreign, Instruction.ANSWER, True)]

    def _same(self, old: Any, new: Any) -> bool:
        return self._foreign_to_bytes(old) == self._foreign_to_bytes(new)
