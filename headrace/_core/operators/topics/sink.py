"""Where records leave a task: to a topic, to the next sub-topology, or to a later stage of the same one."""

from __future__ import annotations

from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace._core.task.context import TaskContext
from headrace.serdes import Serde


class Sink(Operator):
    """Encodes records at once, so that a value changed later by user code is written as it was."""

    def __init__(self, name: str, topic: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> None:
        super().__init__(name)
        self.topic = topic
        self.key_serde = key_serde
        self.value_serde = value_serde
        self._key_to_bytes = key_serde.serialize
        self._value_to_bytes = value_serde.serialize

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._send = context.collector.send

    def key_bytes(self, key: Any) -> bytes | None:
        """A key as it is written."""
        return self._key_to_bytes(key)

    def value_bytes(self, value: Any) -> bytes | None:
        """A value as it is written."""
        return self._value_to_bytes(value)

    def failing(self, record: AnyRecord) -> str:
        """Whether it is the "key" or the "value" of a record that cannot be encoded."""
        try:
            self._key_to_bytes(record.key)
        except Exception:
            return "key"
        return "value"

    def process(self, record: AnyRecord) -> None:
        assert record.timestamp_ms is not None
        self._send(
            self.topic,
            self._key_to_bytes(record.key),
            self._value_to_bytes(record.value),
            record.timestamp_ms,
            record.headers,
        )


class HandOver(Operator):
    """Tells the records of one node from those of the others."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self._number = number

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_value((self._number, record.value)))


class TakeOver(Operator):
    """Takes out the records of one node."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self._number = number

    def process(self, record: AnyRecord) -> None:
        number, value = record.value
        if number == self._number:
            self.forward(record.with_value(value))
