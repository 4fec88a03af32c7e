"""The types of functions that choose the topic and the partition to which a record is written."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeAlias, TypeVar

from headrace.model.record import Headers

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


TopicNameExtractor: TypeAlias = Callable[[K, V, RecordContext], str]
"""`(key, value, context) -> topic`: returns the topic to which a record is written."""

StreamPartitioner: TypeAlias = Callable[[str, K, V, int], int | Collection[int] | None]
"""`(topic, key, value, partitions) -> partition`: returns the partition of a record, counted from 0.

`None` stands for Kafka's default rule, a hash of the serialized key. For an output topic, the function may also return
a collection of partitions: each of them gets the record; if the collection is empty, the record is dropped and counted.
For equal arguments it must always return the same, because a micro-batch may be repeated.
"""
