"""Sends batches of records through the Kafka client."""

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
_QUEUE_FULL_WAIT_S = 0.01


class OutgoingBatch(NamedTuple):
    """Records in the columns of `RECORD_SCHEMA`, and the topic-partition they are written to."""

    topic: str
    partition: int
    records: pa.RecordBatch

    @classmethod
    def of(cls, record: OutgoingRecord) -> OutgoingBatch:
        """A batch of a single record."""
        columns = {"key": record.key, "value": record.value, "timestamp": record.timestamp_ms}
        headers = [{"key": name, "value": value} for name, value in record.headers] or None
        batch = pa.RecordBatch.from_pylist([{**columns, "headers": headers}], schema=RECORD_SCHEMA)
        return cls(record.topic, record.partition, batch)

    def refusals(self, rules: TopicRules, now_ms: int) -> Iterator[tuple[int, OutgoingRecord, Refusal]]:
        """The records that the topic refuses: row number, record and refusal."""
        for number in rules.suspect_rows(self.records, now_ms):
            row = self.records.slice(number, 1)
            [headers] = _headers(row) or [()]
            key, value, timestamp_ms = (row.column(name)[0].as_py() for name in ("key", "value", "timestamp"))
            record = OutgoingRecord(self.topic, self.partition, key, value, timestamp_ms, headers)
            refusal = rules.refusal(record, now_ms)
            if refusal is not None:
                yield number, record, refusal

    def without(self, numbers: Iterable[int]) -> OutgoingBatch:
        """The batch without these rows."""
        mask = np.ones(self.records.num_rows, bool)
        mask[list(numbers)] = False
        return self._replace(records=self.records.filter(pa.array(mask)))


class Sender:
    """A producer for topics with these rules. `failed` has the error and the message of each failed delivery."""

    def __init__(self, cluster: KafkaCluster, rules: Iterable[TopicRules] = (), **settings: Any) -> None:
        self.failed: list[tuple[Any, Any]] = []
        self.producer = cluster.producer(rules, on_delivery=self._on_delivery, **settings)

    def send(self, outgoing: Iterable[OutgoingBatch]) -> None:
        """Queues records in the client, and waits while its queue is full.

        `failed` has the failed deliveries once the producer was flushed or its transaction committed. After an error,
        the records before it are still queued.

        Raises:
            TopicError: if a record is larger than the client may send.
            KafkaException: for other errors of the client; see `KafkaCluster.translate_errors`.
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
        """Queues one record; waits while the client's queue is full."""
        topic, partition, key, value, timestamp_ms, headers = record
        extra = {"headers": list(headers)} if headers else {}
        while True:
            try:
                self.producer.produce(topic, value, key, partition, timestamp=timestamp_ms, **extra)
            except BufferError:
                self.producer.poll(_QUEUE_FULL_WAIT_S)
            except client().KafkaException as failure:
                if failure.args[0].name() != "MSG_SIZE_TOO_LARGE":
                    raise
                raise _too_large(record) from failure
            else:
                return

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append((error, message))


def write_at_least_once(
    cluster: KafkaCluster, outgoing: Iterable[OutgoingBatch], rules: Iterable[TopicRules] = ()
) -> None:
    """Writes records and waits until Kafka has stored them. A repeated call writes its records again."""
    within_s = max(SEND_WITHIN_S, cluster.retry_timeout_s)
    doing, sender = "write records", Sender(cluster, rules)
    with cluster.translate_errors(doing):
        sender.send(outgoing)
        left = sender.producer.flush(within_s)
        if sender.failed:
            raise cluster.delivery_error(*sender.failed[0], doing)
        if left:
            message = (
                f"Kafka at {cluster.bootstrap_servers} did not acknowledge {left} records within {within_s:.0f} s."
            )
            raise TopicError(message)


def check_outgoing(outgoing: Iterable[OutgoingBatch], rules: Mapping[str, TopicRules]) -> Iterator[OutgoingBatch]:
    """Checks each batch just before it is sent, and yields it unchanged. `rules` has the rules of each topic by name.

    Raises:
        TopicError: for the first record that its topic refuses.
    """
    now_ms = time.time_ns() // 1_000_000
    for batch in outgoing:
        for _, record, refusal in batch.refusals(rules[batch.topic], now_ms):
            raise refusal.error(record)
        yield batch


def _headers(records: pa.RecordBatch) -> list[Headers] | None:
    """The headers of each record of a batch; `None` if no record has headers."""
    if "headers" not in records.schema.names or records.column("headers").null_count == records.num_rows:
        return None
    listed = records.column("headers").to_pylist()
    return [tuple((header["key"], header["value"]) for header in headers or ()) for headers in listed]


def _too_large(record: OutgoingRecord) -> TopicError:
    return TopicError(
        f"A record for topic {record.topic!r} (key {shortened(record.key)}) has {record.size:,} bytes, more than "
        "message.max.bytes lets the Kafka client send. Raise it in kafka={...}, or write smaller records."
    )
