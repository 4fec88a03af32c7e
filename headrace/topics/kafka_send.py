"""Hands whole batches of records to the Kafka client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.errors import TopicError
from headrace.topics.kafka_cluster import KafkaCluster, client

SEND_WITHIN_S = 60.0
_FULL_WAIT_S = 0.01


class Outgoing(NamedTuple):
    """Records, in the columns of a topic, with their place to go to."""

    topic: str
    partition: int
    records: pa.RecordBatch


def write_at_least_once(cluster: KafkaCluster, outgoing: Iterable[Outgoing]) -> None:
    """Writes records and waits until Kafka has them; a batch that is repeated writes its records again."""
    failed: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failed.append(error)

    producer = cluster.producer(on_delivery=delivered)
    with cluster.telling("take records"):
        send(producer, outgoing)
        left = producer.flush(SEND_WITHIN_S)
        if failed:
            raise client().KafkaException(failed[0])
        if left:
            message = f"Kafka at {cluster.bootstrap_servers} did not take {left} records within {SEND_WITHIN_S:.0f} s."
            raise TopicError(message)


def send(producer: Any, outgoing: Iterable[Outgoing]) -> None:
    """Hands records to the client, which tells later whether they were delivered: when it is flushed, or commits.

    Raises:
        TopicError: if a timestamp is 0.
    """
    produce = producer.produce
    for topic, partition, records in outgoing:
        _refuse_zero(topic, records)
        values, keys, timestamps = (records.column(name).to_pylist() for name in ("value", "key", "timestamp"))
        headers = _headers(records)
        if headers is not None:
            for value, key, timestamp_ms, listed in zip(values, keys, timestamps, headers, strict=True):
                _produce(producer, topic, value, key, partition, timestamp=timestamp_ms, headers=listed)
            continue
        for value, key, timestamp_ms in zip(values, keys, timestamps, strict=True):
            try:
                produce(topic, value, key, partition, timestamp=timestamp_ms)
            except BufferError:
                _produce(producer, topic, value, key, partition, timestamp=timestamp_ms)


def _produce(producer: Any, *record: Any, **options: Any) -> None:
    """Waits for as long as the client is full."""
    while True:
        try:
            producer.produce(*record, **options)
        except BufferError:
            producer.poll(_FULL_WAIT_S)
        else:
            return


def patiently(call: Callable[[], object]) -> None:
    """Calls until it is done, or fails for good."""
    kafka = client()
    for attempt in range(4):
        try:
            call()
        except kafka.KafkaException as failure:
            if attempt == 3 or not failure.args[0].retriable():
                raise
        else:
            return


def _headers(records: pa.RecordBatch) -> list[list[tuple[str, bytes | None]]] | None:
    """The headers of each record as the client takes them; `None` if none has any."""
    if "headers" not in records.schema.names or records.column("headers").null_count == records.num_rows:
        return None
    listed = records.column("headers").to_pylist()
    return [[(header["key"], header["value"]) for header in headers or ()] for headers in listed]


def _refuse_zero(topic: str, records: pa.RecordBatch) -> None:
    zero = np.flatnonzero(records.column("timestamp").to_numpy() == 0)
    if len(zero):
        key = records.column("key")[int(zero[0])].as_py()
        message = (
            f"A record for topic {topic!r} (key {key!r}) has timestamp 0, in place of which Kafka's C client would "
            "write the current time. Give records a timestamp of 1 ms or more."
        )
        raise TopicError(message)
