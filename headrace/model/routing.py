"""Functions that choose where a record is written: its topic, its partitions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeAlias, TypeVar

from headrace.model.record import Headers

K = TypeVar("K")
V = TypeVar("V")


class RecordContext(NamedTuple):
    """Where a record comes from, for a function that chooses its output topic.

    Attributes:
        topic: topic of the input record that the record descends from; `None` in a punctuation.
        partition: partition of that input record; -1 in a punctuation.
        offset: offset of that input record; -1 in a punctuation.
        timestamp_ms: timestamp of the record itself.
        headers: headers of the record itself.
    """

    topic: str | None
    partition: int
    offset: int
    timestamp_ms: int
    headers: Headers


TopicNameExtractor: TypeAlias = Callable[[K, V, RecordContext], str]
"""`(key, value, context) -> topic`: returns the topic to which a record is written."""

StreamPartitioner: TypeAlias = Callable[[str, K, V, int], int | Collection[int] | None]
"""`(topic, key, value, partitions) -> partition`: returns the partition of a record, counted from 0.

`None` stands for Kafka's default rule, a hash of the serialized key. A sink to a user topic may return several
partitions as a collection: each of them gets the record, and with an empty collection the record is dropped and
counted. It must return the same for equal arguments, because a batch may be repeated.
"""
