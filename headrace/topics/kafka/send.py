"""Hands whole batches of records to the Kafka client."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.errors import TopicError
from headrace.model.record import Headers
from headrace.serdes.base import shortened
from headrace.topics.embedded.segments import RECORD_SCHEMA
from headrace.topics.kafka.client import client
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.rules import OutgoingRecord, Refusal, TopicRules

SEND_WITHIN_S = 60.0
_FULL_WAIT_S = 0.01


class Outgoing(NamedTuple):
    """Records, in the columns of a topic, with their place to go to."""

    topic: str
    partition: int
    records: pa.RecordBatch

    @classmethod
    def of(cls, record: OutgoingRecord) -> Outgoing:
        """A single record."""
        columns = {"key": record.key, "value": record.value, "timestamp": record.timestamp_ms}
        headers = [{"key": name, "value": value} for name, value in record.headers] or None
        batch = pa.RecordBatch.from_pylist([{**columns, "headers": headers}], schema=RECORD_SCHEMA)
        return cls(record.topic, record.partition, batch)

    def refused(self, rules: TopicRules, now_ms: int) -> Iterator[tuple[int, OutgoingRecord, Refusal]]:
        """Those that the topic does not take: number, record and why."""
        for number in rules.doubtful(self.records, now_ms):
            row = self.records.slice(number, 1)
            [headers] = _headers(row) or [()]
            key, value, timestamp_ms = (row.column(name)[0].as_py() for name in ("key", "value", "timestamp"))
            record = OutgoingRecord(self.topic, self.partition, key, value, timestamp_ms, headers)
            refusal = rules.refusal(record, now_ms)
            if refusal is not None:
                yield number, record, refusal

    def without(self, numbers: Iterable[int]) -> Outgoing:
        """All but these rows."""
        kept = np.ones(self.records.num_rows, bool)
        kept[list(numbers)] = False
        return self._replace(records=self.records.filter(pa.array(kept)))


class Sender:
    """A producer, for topics with these rules, and what it was not able to deliver: the client's error and message."""

    def __init__(self, cluster: KafkaCluster, rules: Iterable[TopicRules] = (), **settings: Any) -> None:
        self.failed: list[tuple[Any, Any]] = []
        self.producer = cluster.producer(rules, on_delivery=self._delivered, **settings)

    def send(self, outgoing: Iterable[Outgoing]) -> None:
        """Hands records to the client, which tells later whether they were delivered: when it is flushed, or commits.

        Raises:
            TopicError: if one is larger than the client may send.
        """
        produce = self.producer.produce
        for topic, partition, records in outgoing:
            values, keys, timestamps = (records.column(name).to_pylist() for name in ("value", "key", "timestamp"))
            headers = _headers(records)
            if headers is not None:
                for value, key, timestamp_ms, listed in zip(values, keys, timestamps, headers, strict=True):
                    self._produce(OutgoingRecord(topic, partition, key, value, timestamp_ms, listed))
                continue
            for value, key, timestamp_ms in zip(values, keys, timestamps, strict=True):
                try:
                    produce(topic, value, key, partition, timestamp=timestamp_ms)
                except (BufferError, client().KafkaException):
                    self._produce(OutgoingRecord(topic, partition, key, value, timestamp_ms, ()))

    def _produce(self, record: OutgoingRecord) -> None:
        """Waits for as long as the client is full."""
        topic, partition, key, value, timestamp_ms, headers = record
        extra = {"headers": list(headers)} if headers else {}
        while True:
            try:
                self.producer.produce(topic, value, key, partition, timestamp=timestamp_ms, **extra)
            except BufferError:
                self.producer.poll(_FULL_WAIT_S)
            except client().KafkaException as failure:
                if failure.args[0].name() != "MSG_SIZE_TOO_LARGE":
                    raise
                raise _too_large(record) from failure
            else:
                return

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append((error, message))


def write_at_least_once(cluster: KafkaCluster, outgoing: Iterable[Outgoing], rules: Iterable[TopicRules] = ()) -> None:
    """Writes records and waits until Kafka has them; a batch that is repeated writes its records again."""
    within_s = max(SEND_WITHIN_S, cluster.patience_s)
    doing, sender = "take records", Sender(cluster, rules)
    with cluster.telling(doing):
        sender.send(outgoing)
        left = sender.producer.flush(within_s)
        if sender.failed:
            raise cluster.undelivered(*sender.failed[0], doing)
        if left:
            message = f"Kafka at {cluster.bootstrap_servers} did not take {left} records within {within_s:.0f} s."
            raise TopicError(message)


def taken(outgoing: Iterable[Outgoing], rules: Mapping[str, TopicRules]) -> Iterator[Outgoing]:
    """Records on their way to topics with these rules.

    Raises:
        TopicError: for the first that its topic does not take.
    """
    now_ms = time.time_ns() // 1_000_000
    for batch in outgoing:
        for _, record, refusal in batch.refused(rules[batch.topic], now_ms):
            raise refusal.error(record)
        yield batch


def _headers(records: pa.RecordBatch) -> list[Headers] | None:
    """The headers of each record; `None` if none has any."""
    if "headers" not in records.schema.names or records.column("headers").null_count == records.num_rows:
        return None
    listed = records.column("headers").to_pylist()
    return [tuple((header["key"], header["value"]) for header in headers or ()) for headers in listed]


def _too_large(record: OutgoingRecord) -> TopicError:
    return TopicError(
        f"A record for topic {record.topic!r} (key {shortened(record.key)}) has {record.size:,} bytes, more than "
        "message.max.bytes lets the Kafka client send. Raise it in kafka={...}, or make smaller records."
    )
