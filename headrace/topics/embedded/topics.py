"""Embedded topics from Python: create, produce, read. No broker, no Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import timedelta

import pyarrow as pa

from headrace.model.record import Record
from headrace.serdes import Serde
from headrace.topics.embedded.log import TopicLog
from headrace.topics.policy import CleanupPolicy, policy_of
from headrace.topics.record_topics import K, RecordTopics, TopicDescription, V


class LocalTopics(RecordTopics):
    """The topics in a local directory: durable, and shared by all processes that use the directory.

    The first write creates the directory. Records are partitioned as in Kafka: by the murmur2 hash of the serialized
    key.

    Raises:
        TopicError: if the path is not a directory.

    Example:
        >>> import tempfile
        >>> directory = tempfile.TemporaryDirectory()
        >>> topics = LocalTopics(directory.name)
        >>> topics.create("clicks", partitions=2)
        >>> topics.produce("clicks", [Record("alice", {"page": "/"}, 12), Record("bob", None, 15)])
        2
        >>> for record in topics.read("clicks"):
        ...     print(record.partition, record)
        0 Record(key='bob', value=None, timestamp_ms=15)
        1 Record(key='alice', value={'page': '/'}, timestamp_ms=12)
        >>> topics.list()
        ['clicks']
        >>> directory.cleanup()
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = directory
        self._log = TopicLog(directory)

    def __repr__(self) -> str:
        return f"LocalTopics({os.fspath(self._directory)!r})"

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
        """Creates a topic.

        Args:
            name: 1 to 249 letters, digits, dots, underscores and hyphens.
            partitions: the number of partitions, which cannot be changed later.
            retention: how long records are kept, by their timestamps; Kafka's `retention.ms`. Default: forever.
            retention_bytes: how many bytes on disk are kept of each partition; Kafka's `retention.bytes`. Default: all.
            cleanup_policy: Kafka's `cleanup.policy`: `"delete"`, the default; `"compact"`, which deletes records that
                have a later one with the same key; or `"compact,delete"`.
            exist_ok: whether the topic may already exist, with the same number of partitions and retention.

        As in Kafka, records are deleted from the beginning of a partition, in groups, when all records of a group are
        too old or there are enough bytes after it; and only when something is written to the topics of the directory.
        Compaction runs when at least half of a partition is new. It keeps offsets, tombstones, and records without key.

        Raises:
            TopicError: if the name or a number is invalid, or the topic exists.
        """
        policy = policy_of(name, retention, retention_bytes, cleanup_policy)
        self._log.create(name, partitions, policy, exist_ok=exist_ok)

    def describe(self, name: str) -> TopicDescription:
        """The partitions of a topic, their offsets, and the retention policy.

        Raises:
            TopicError: if there is no such topic.
        """
        self._log.refresh()
        ends = self._log.end_offsets(name)
        begins = self._log.begin_offsets(name)
        return TopicDescription(name, tuple(ends), tuple(begins), self._log.policy(name))

    def produce(
        self,
        name: str,
        records: Iterable[Record[K | None, V | None]],
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
    ) -> int:
        """Appends records to a topic, durably and atomically: all of them or none.

        A record goes to its `partition` if it has one, else to the partition of its key; records without a key go to
        the partitions in turn. A record without a timestamp gets the wall-clock time. The order within a partition is
        that of `records`.

        Args:
            name: an existing topic.
            records: any number of records; they are not all held in memory.
            key_serde: how keys become bytes; `serdes.String()` by default.
            value_serde: how values become bytes; `serdes.Json()` by default.

        Returns:
            The number of records.

        Raises:
            TopicError: if there is no such topic or partition, or something in `records` is not a record.
            SerdeError: if a key or value cannot be serialized; the message has the record's index in the call.
        """
        encoder = self._encoder(name, key_serde, value_serde)
        with self._log.writer() as writer:
            for batches in encoder.encode_in_chunks(records):
                for partition, batch in batches:
                    writer.write(name, partition, batch)
            self._log.commit(writer.finish())
        return encoder.count

    def list(self) -> list[str]:
        """The names of all topics, sorted."""
        self._log.refresh()
        return sorted(self._log.topics())

    def _batches(self, name: str, partition: int, start: int, end: int) -> Iterator[pa.RecordBatch]:
        return self._log.read(name, partition, start, end)
