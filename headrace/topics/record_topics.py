"""What `LocalTopics` and `KafkaTopics` have in common: how they describe topics, and read and encode records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa

from headrace.model.record import Record
from headrace.model.type_variables import TypeVar
from headrace.serdes import Json, Serde, String
from headrace.topics.policy import UNLIMITED, TopicPolicy
from headrace.topics.records import AnyRecord, RecordEncoder, decode, offsets_of

# Without serdes, keys are text and values are JSON.
K = TypeVar("K", default=str)
V = TypeVar("V", default=Any)


class TopicDescription(msgspec.Struct, frozen=True):
    """A topic: its name, the end offset and the first offset of each partition, and how long it retains records.

    The retention policy of a topic on Kafka is not known here.
    """

    name: str
    end_offsets: tuple[int, ...]
    begin_offsets: tuple[int, ...]
    policy: TopicPolicy = UNLIMITED

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self.end_offsets)

    @property
    def records(self) -> int:
        """The number of records in all partitions; an upper bound if offsets have gaps."""
        return sum(self.end_offsets) - sum(self.begin_offsets)


class RecordTopics:
    """The topics of a directory, or of a Kafka cluster."""

    @abstractmethod
    def describe(self, name: str) -> TopicDescription:
        """The partitions of a topic and their offsets.

        Raises:
            TopicError: if there is no such topic.
        """

    def read(
        self, name: str, key_serde: Serde[K] | None = None, value_serde: Serde[V] | None = None
    ) -> list[Record[K, V]]:
        """Reads all records of a topic, on Kafka all committed ones, by partition, then by offset.

        Each record has its `partition`.

        Args:
            name: an existing topic.
            key_serde: how bytes become keys; `serdes.String()` by default.
            value_serde: how bytes become values; `serdes.Json()` by default.

        Raises:
            TopicError: if there is no such topic, or its records cannot be read.
            SerdeError: if a key or value cannot be deserialized; the message names its partition and offset.
        """
        serdes: tuple[Serde[Any], Serde[Any]] = (key_serde or String(), value_serde or Json())
        topic = self.describe(name)
        return [
            record
            for partition, (start, end) in enumerate(zip(topic.begin_offsets, topic.end_offsets, strict=True))
            for _, record in self._records(name, partition, start, end, *serdes)
        ]

    def _records(
        self, name: str, partition: int, start: int, end: int, key_serde: Serde[Any], value_serde: Serde[Any]
    ) -> Iterator[tuple[int, AnyRecord]]:
        """The records at offsets `start` to `end`, exclusive, each with its offset."""
        for batch in self._batches(name, partition, start, end):
            offsets = offsets_of(batch, start)
            yield from zip(offsets, decode(name, partition, start, batch, key_serde, value_serde), strict=True)
            if offsets:
                start = offsets[-1] + 1

    @abstractmethod
    def _batches(self, name: str, partition: int, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """The records at offsets `start` to `end`, exclusive; with a column `offset` if there are gaps."""

    def _encoder(self, name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> RecordEncoder:
        """Encodes the records of one `produce` call. Those without a key go to the partitions after the last one."""
        topic = self.describe(name)
        turn = sum(topic.end_offsets)
        return RecordEncoder(name, topic.partitions, turn, key_serde or String(), value_serde or Json())
