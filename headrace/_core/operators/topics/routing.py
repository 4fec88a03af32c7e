"""Sinks with functions that choose the topic or the partitions of each record, and sinks whose serdes use headers."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Mapping
from typing import Any

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord
from headrace._core.operators.topics.sink import TopicWriter
from headrace._core.partitioning import partition_for
from headrace._core.task.context import TaskContext
from headrace.errors import RoutingError, SerdeError
from headrace.model.routing import RecordContext, StreamPartitioner, TopicNameExtractor
from headrace.serdes import Serde, SessionWindowedKey, WindowedKey
from headrace.serdes.base import TopicPart
from headrace.serdes.topics import for_topic

_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")


class RoutedSink(TopicWriter):
    """Writes records to partitions that a partitioner chooses, of a fixed topic or of one that a function names.

    It has no batch form, because its functions, and serdes that use headers, need one record after the other.

    Args:
        name: name of the operator.
        topic: the topic, or the function that returns it.
        key_serde: serde of the keys.
        value_serde: serde of the values.
        partitioner: chooses partitions; without it, a record goes to the partition of its key.
        internal: whether it is the topic of a repartition; then each record goes to one partition only.
    """

    def __init__(
        self,
        name: str,
        topic: str | TopicNameExtractor[Any, Any],
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        partitioner: StreamPartitioner[Any, Any] | None,
        *,
        internal: bool,
    ) -> None:
        super().__init__(name, key_serde, value_serde, internal=internal)
        self._topic = topic
        self._partitioner = partitioner
        self._window_bytes = key_serde.suffix_size if isinstance(key_serde, WindowedKey | SessionWindowedKey) else 0
        self._serdes: dict[str, tuple[Serde[Any], Serde[Any]]] = {}
        if isinstance(topic, str):
            self._serdes[topic] = key_serde, value_serde

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._collector = context.collector

    def failure_reason(self, record: AnyRecord, error: BaseException) -> DropReason:
        if isinstance(error, RoutingError) or self.unserializable_part(record) is None:
            return DropReason.ROUTING_ERROR
        return super().failure_reason(record, error)

    def topic_of(self, record: AnyRecord) -> str | None:
        if isinstance(self._topic, str):
            return self._topic
        try:
            return self._name_topic(self._topic, record)
        except Exception:
            return None

    def process(self, record: AnyRecord) -> None:
        assert record.timestamp_ms is not None
        topic = self._topic
        if isinstance(topic, str):
            count = self._collector.partitions_of(topic)
        else:
            topic = self._name_topic(topic, record)
            count = self._collector.open_topic(topic)
        chosen = self._choose_partitions(topic, record, count)
        key_serde, value_serde = self._serdes[topic]
        part: TopicPart = "key"
        try:
            key, headers = key_serde.serialize_with_headers(record.key, record.headers)
            part = "value"
            value, headers = value_serde.serialize_with_headers(record.value, headers)
        except SerdeError as error:
            raise self.encoding_error(error, part, topic) from error.__cause__
        if chosen is None and self._window_bytes and key is not None:
            chosen = (partition_for(key, count, self._window_bytes),)
        for partition in (None,) if chosen is None else chosen:
            self._collector.send(topic, key, value, record.timestamp_ms, headers, partition)
        if chosen is not None and not chosen:
            self.context.drop(self.name, DropReason.NO_PARTITION)

    def _name_topic(self, topic_of: TopicNameExtractor[Any, Any], record: AnyRecord) -> str:
        assert record.timestamp_ms is not None
        metadata = self.context.record_metadata
        named = topic_of(record.key, record.value, RecordContext(*metadata, record.timestamp_ms, record.headers))
        if not isinstance(named, str) or named not in self._serdes:
            self._serdes[_checked_topic(named)] = for_topic(named, self.key_serde, self.value_serde)
        return named

    def serdes_for(self, record: AnyRecord) -> tuple[Serde[Any], Serde[Any]]:
        topic = self.topic_of(record)
        return super().serdes_for(record) if topic is None else self._serdes[topic]

    def _choose_partitions(self, topic: str, record: AnyRecord, count: int) -> tuple[int, ...] | None:
        """The partitions of a record, in ascending order; empty to drop it, `None` for the partition of its key."""
        if self._partitioner is None:
            return None
        answer: Any = self._partitioner(topic, record.key, record.value, count)
        if answer is None:
            return None
        if isinstance(answer, Collection) and not isinstance(answer, str | bytes | bytearray | Mapping):
            chosen = tuple(sorted({_checked_partition(topic, one, count) for one in answer}))
            if len(chosen) > 1 and self._internal:
                message = (
                    f"the partitioner returned {answer!r}, but a record of the internal topic {topic!r} goes to one "
                    "partition. Return one, or None for Kafka's default rule."
                )
                raise RoutingError(message)
            return chosen
        return (_checked_partition(topic, answer, count),)


def _checked_topic(topic: object) -> str:
    if not isinstance(topic, str):
        message = (
            f"the function that names the topic returned {topic!r} of type {type(topic).__name__}; it must be str."
        )
        raise RoutingError(message)
    if not _TOPIC_NAME.fullmatch(topic) or topic in (".", ".."):
        message = (
            f"the function that names the topic returned {topic!r}, which is not a topic name: it needs 1 to 249 ASCII "
            "letters, digits, '.', '_' and '-', and is neither '.' nor '..'."
        )
        raise RoutingError(message)
    return topic


def _checked_partition(topic: str, partition: Any, count: int) -> int:
    try:
        number = operator.index(partition)
    except TypeError:
        number = -1
    if isinstance(partition, bool) or not 0 <= number < count:
        message = (
            f"the partitioner returned {partition!r} for topic {topic!r}, which has "
            f"{count} partition{'' if count == 1 else 's'}; it must return an integer from 0 to {count - 1}, a "
            "collection of them, or None for Kafka's default rule."
        )
        raise RoutingError(message)
    return number


def refused_topic(topic: str, why: str) -> RoutingError:
    """The error for a topic that a function chose and that the application may not write to."""
    return RoutingError(f"the function that names the topic returned {topic!r}, {why}")
