"""Sinks and relays, where records leave a task: for a topic, another sub-topology, or a later stage of the same one.

All nodes that one stage hands to another share one relay, so that their records arrive in the order in which they were
forwarded: a table is updated before or after a record looks it up, exactly as if both were in one stage.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord, Operator
from headrace._core.task.context import TaskContext
from headrace.errors import RegistryError, SerdeError, text_of
from headrace.model.error_handlers import ErrorKind
from headrace.serdes import Serde
from headrace.serdes.base import TopicPart


class TopicWriter(Operator):
    """The base of operators that write to topics. They encode records immediately: user code may change a value later.

    Its errors go to the handler of production errors. An `internal` topic is one of a repartition.
    """

    error_kind: ErrorKind = "production"

    def __init__(self, name: str, key_serde: Serde[Any], value_serde: Serde[Any], *, internal: bool) -> None:
        super().__init__(name)
        self._internal = internal
        self.key_serde = key_serde
        self.value_serde = value_serde
        self._key_to_bytes = key_serde.serialize
        self._value_to_bytes = value_serde.serialize

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._send = context.collector.send

    def encoding_error(self, error: SerdeError, part: TopicPart, topic: str) -> SerdeError:
        """Returns the error for a key or value that cannot be encoded. It names the topic and the argument to add."""
        if isinstance(error, RegistryError):
            return error
        if self._internal:
            advice = f"Give the operator that repartitions another serde: {part}_serde=..."
        else:
            advice = f"Give the sink another serde: to({topic!r}, {part}_serde=...)"
        text = f"the {part} for topic {topic!r}: {text_of(error).removesuffix('.')}. {advice}"
        return type(error)(text).with_traceback(error.__traceback__)

    @abstractmethod
    def topic_of(self, record: AnyRecord) -> str | None:
        """The topic that a record is written to; `None` if the function that chooses it fails."""

    def failure_reason(self, record: AnyRecord, error: BaseException) -> DropReason:  # noqa: ARG002
        """Why a record could not be written."""
        is_key = self.unserializable_part(record) == "key"
        return DropReason.UNSERIALIZABLE_KEY if is_key else DropReason.UNSERIALIZABLE_VALUE

    def unserializable_part(self, record: AnyRecord) -> Literal["key", "value"] | None:
        """Which part of a record cannot be encoded, "key" or "value"; `None` if both can."""
        key_serde, value_serde = self.serdes_for(record)
        try:
            _, headers = key_serde.serialize_with_headers(record.key, record.headers)
        except Exception:
            return "key"
        try:
            value_serde.serialize_with_headers(record.value, headers)
        except Exception:
            return "value"
        return None

    def serdes_for(self, record: AnyRecord) -> tuple[Serde[Any], Serde[Any]]:  # noqa: ARG002
        """The serdes that write a record."""
        return self.key_serde, self.value_serde


class Sink(TopicWriter):
    """Writes records to a topic, each to the partition of its key."""

    def __init__(
        self, name: str, topic: str, key_serde: Serde[Any], value_serde: Serde[Any], *, internal: bool
    ) -> None:
        super().__init__(name, key_serde, value_serde, internal=internal)
        self.topic = topic

    def key_bytes(self, key: Any) -> bytes | None:
        """A key in the bytes that the sink writes."""
        try:
            return self._key_to_bytes(key)
        except SerdeError as error:
            raise self.encoding_error(error, "key", self.topic) from error.__cause__

    def value_bytes(self, value: Any) -> bytes | None:
        """A value in the bytes that the sink writes."""
        try:
            return self._value_to_bytes(value)
        except SerdeError as error:
            raise self.encoding_error(error, "value", self.topic) from error.__cause__

    def topic_of(self, record: AnyRecord) -> str | None:  # noqa: ARG002
        return self.topic

    def process(self, record: AnyRecord) -> None:
        assert record.timestamp_ms is not None
        part: TopicPart = "key"
        try:
            key = self._key_to_bytes(record.key)
            part = "value"
            value = self._value_to_bytes(record.value)
        except SerdeError as error:
            raise self.encoding_error(error, part, self.topic) from error.__cause__
        self._send(self.topic, key, value, record.timestamp_ms, record.headers)


class HandOver(Operator):
    """Adds the `number` of a node to its records, before they enter a relay that several nodes share.

    With `every_update`, it gets every update of a cached node, not only those that leave the record cache.
    """

    def __init__(self, name: str, number: int, *, every_update: bool) -> None:
        super().__init__(name)
        self._number = number
        self.every_update = every_update

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_value((self._number, record.value)))


class TakeOver(Operator):
    """Forwards those records of a shared relay that have the `number` of one node, and removes the number."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self._number = number

    def process(self, record: AnyRecord) -> None:
        number, value = record.value
        if number == self._number:
            self.forward(record.with_value(value))
