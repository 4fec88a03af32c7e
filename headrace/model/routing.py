"""Where a record goes: which child of a processor, and the types of functions that choose a topic or a partition."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, TypeAlias, TypeVar

from headrace._suggestions.attributes import SuggestingMeta
from headrace.model.record import Headers, check_event_time

K = TypeVar("K")
V = TypeVar("V")


class RecordContext(NamedTuple):
    """What a function that chooses an output topic gets besides the key and value of the record.

    Attributes:
        topic: topic of the input record that led to this record; `None` in a punctuation.
        partition: partition of that input record; -1 in a punctuation.
        offset: offset of that input record; -1 in a punctuation.
        timestamp_ms: timestamp of the record to be written.
        headers: headers of the record to be written.
    """

    topic: str | None
    partition: int
    offset: int
    timestamp_ms: int
    headers: Headers


@dataclass(frozen=True)
class To(metaclass=SuggestingMeta):
    """Selects the children that a record is forwarded to, and optionally sets its timestamp. Immutable.

    Example:
        >>> To.child("audit").with_timestamp(12)
        To(name='audit', timestamp_ms=12)
    """

    name: str | None = None
    timestamp_ms: int | None = None

    @classmethod
    def all(cls) -> Self:
        """Selects all children, in the order they were added."""
        return cls()

    @classmethod
    def child(cls, name: str) -> Self:
        """Selects only the child of that name: a processor or a sink."""
        return cls(name)

    def with_timestamp(self, timestamp_ms: int) -> Self:
        """Returns a copy that also sets the timestamp of the forwarded record, in place of the record's own.

        Raises:
            StreamsError: for a timestamp that is negative, greater than 2**63 - 1 or not a whole number.
        """
        check_event_time(timestamp_ms, "To.with_timestamp() was given")
        return replace(self, timestamp_ms=timestamp_ms)


TopicNameExtractor: TypeAlias = Callable[[K, V, RecordContext], str]
"""`(key, value, context) -> topic`: returns the topic to which a record is written."""

StreamPartitioner: TypeAlias = Callable[[str, K, V, int], int | Collection[int] | None]
"""`(topic, key, value, partitions) -> partition`: returns the partition of a record, counted from 0.

`None` stands for Kafka's default rule, a hash of the serialized key. For an output topic, the function may also return
a collection of partitions: each of them gets the record; if the collection is empty, the record is dropped and counted.
For equal arguments it must always return the same, because a micro-batch may be repeated.
"""
