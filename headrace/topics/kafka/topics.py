"""Topics on Kafka from Python: create, produce, read. No Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import pyarrow as pa

from headrace.errors import TopicError
from headrace.model.record import Record
from headrace.serdes import Serde
from headrace.topics.embedded.names import check_topic
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.send import OutgoingBatch, check_outgoing, write_at_least_once
from headrace.topics.policy import CleanupPolicy, policy_of
from headrace.topics.record_topics import K, RecordTopics, TopicDescription, V


class KafkaTopics(RecordTopics):
    """The topics of a Kafka cluster, with the same methods as `LocalTopics`.

    Needs the extra `headrace[kafka]`. Only committed records are read. Offsets have gaps, left by transactions and
    compaction, so the number of records in `describe` is an upper bound.

    Args:
        bootstrap_servers: brokers, e.g. `"kafka-1:9092,kafka-2:9092"`.
        kafka: settings of the Kafka client by librdkafka's names, e.g. `security.protocol`.

    Raises:
        TopicError: from every method, within seconds, if no broker answers.

    Example:
        >>> topics = KafkaTopics("localhost:9092")                                  # doctest: +SKIP
        >>> topics.create("clicks", partitions=2)                                   # doctest: +SKIP
        >>> topics.produce("clicks", [Record("alice", {"page": "/"}, 12)])          # doctest: +SKIP
        1
        >>> topics.read("clicks")                                                   # doctest: +SKIP
        [Record(key='alice', value={'page': '/'}, timestamp_ms=12)]
    """

    def __init__(self, bootstrap_servers: str, kafka: Mapping[str, Any] | None = None) -> None:
        self._cluster = KafkaCluster(bootstrap_servers, dict(kafka or {}))

    def __repr__(self) -> str:
        return f"KafkaTopics({self._cluster.bootstrap_servers!r})"

    def create(
        self,
        name: str,
        partitions: int = 4,
        *,
        retention: timedelta | None = None,
        retention_bytes: int | None = None,
        cleanup_policy: CleanupPolicy | None = None,
        exist_ok: bool = False,
    ) -> None:
        """Creates a topic with the broker's default replication.

        Args:
            name: 1 to 249 letters, digits, dots, underscores and hyphens.
            partitions: the number of partitions.
            retention: Kafka's `retention.ms`. Default: the broker's.
            retention_bytes: Kafka's `retention.bytes`. Default: the broker's.
            cleanup_policy: Kafka's `cleanup.policy`: `"delete"`, `"compact"` or `"compact,delete"`.
            exist_ok: whether the topic may already exist, with the same number of partitions.

        Raises:
            TopicError: if the name or the number is invalid, or the topic exists.
        """
        check_topic(name, partitions)
        policy = policy_of(name, retention, retention_bytes, cleanup_policy)
        self._cluster.create({name: partitions}, policy.kafka_settings(), exist_ok=exist_ok)
        existing = self._cluster.partitions(name)
        if existing != partitions:
            message = f"Topic {name!r} already exists, with {existing} partitions instead of {partitions}."
            raise TopicError(message)

    def describe(self, name: str) -> TopicDescription:
        places = [(name, partition) for partition in range(self._cluster.partitions(name))]
        return TopicDescription(
            name, tuple(self._cluster.end_offsets(places)), tuple(self._cluster.begin_offsets(places))
        )

    def produce(
        self,
        name: str,
        records: Iterable[Record[K | None, V | None]],
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
    ) -> int:
        """Appends records to a topic, and returns when Kafka has stored them; after an error some may be written.

        A record goes to its `partition` if it has one, else to the partition of its key, as Kafka's own producers
        choose it; records without a key go to the partitions in turn. A record without a timestamp gets the wall-clock
        time. The order within a partition is that of `records`.

        Args:
            name: an existing topic.
            records: any number of records; they are not all held in memory.
            key_serde: how keys become bytes; `serdes.String()` by default.
            value_serde: how values become bytes; `serdes.Json()` by default.

        Returns:
            The number of records.

        Raises:
            TopicError: if there is no such topic or partition; or if the topic refuses a record, because it is too
                large, or has timestamp 0, which Kafka's C client cannot write.
            SerdeError: if a key or value cannot be serialized; the message has the record's index in the call.
        """
        encoder, rules = self._encoder(name, key_serde, value_serde), self._cluster.rules([name])
        for batches in encoder.encode_in_chunks(records):
            outgoing = (OutgoingBatch(name, partition, batch) for partition, batch in batches)
            write_at_least_once(self._cluster, check_outgoing(outgoing, rules), rules.values())
        return encoder.count

    def list(self) -> list[str]:
        """The names of all topics, sorted, without Kafka's internal topics."""
        return sorted(self._cluster.topics())

    def _batches(self, name: str, partition: int, start: int, end: int) -> Iterator[pa.RecordBatch]:
        return self._cluster.read(name, partition, start, end)
