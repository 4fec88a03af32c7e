"""Hands whole batches of records to the Kafka client."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.errors import TopicError
from headrace.topics.kafka_client import client
from headrace.topics.kafka_cluster import KafkaCluster

SEND_WITHIN_S = 60.0
_FULL_WAIT_S = 0.01


class Outgoing(NamedTuple):
    """Records, in the columns of a topic, with their place to go to."""

    topic: str
    partition: int
    records: pa.RecordBatch


def write_at_least_once(cluster: KafkaCluster, outgoing: Iterable[Outgoing]) -> None:
    """Writes records and waits until Kafka has them; a batch that is repeated writes its records again."""
    within_s = max(SEND_WITHIN_S, cluster.patience_s)
    failed: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failed.append(error)

    producer = cluster.producer(on_delivery=delivered)
    with cluster.telling("take records"):
        send(producer, outgoing)
        left = producer.flush(within_s)
        if failed:
            raise client().KafkaException(failed[0])
        if left:
            message = f"Kafka at {cluster.bootstrap_servers} did not take {left} records within {within_s:.0f} s."
            raise TopicError(message)


def send(producer: Any, outgoing: Iterable[Outgoing]) -> None:
    """Hands records to the client, which tells later whether they were delivered: when it is flushed, or commits.

    Raises:
        TopicError: if a timestamp is 0.
    """
    produce = producer.produce
    for topic, partition, records in outgoing:
        _refuse_zero(topic, records)
        for value, key, timestamp_ms, extra in _rows(records):
            while True:
                try:
                    produce(topic, value, key, partition, timestamp=timestamp_ms, **extra)
                    break
                except BufferError:
                    producer.poll(_FULL_WAIT_S)


def _rows(records: pa.RecordBatch) -> Iterable[tuple[bytes | None, bytes | None, int, dict[str, Any]]]:
    """Value, key and timestamp of each record, and its headers as a named argument if it has any."""
    extras: Iterable[dict[str, Any]] = repeat({})
    if "headers" in records.schema.names and records.column("headers").null_count < records.num_rows:
        extras = (
            {"headers": [(header["key"], header["value"]) for header in listed]} if listed else {}
            for listed in records.column("headers").to_pylist()
        )
    columns = (records.column(name).to_pylist() for name in ("value", "key", "timestamp"))
    return zip(*columns, extras, strict=False)


def _refuse_zero(topic: str, records: pa.RecordBatch) -> None:
    zero = np.flatnonzero(records.column("timestamp").to_numpy() == 0)
    if len(zero):
        key = records.column("key")[int(zero[0])].as_py()
        message = (
            f"A record for topic {topic!r} (key {key!r}) has timestamp 0, in place of which Kafka's C client would "
            "write the current time. Give records a timestamp of 1 ms or more."
        )
        raise TopicError(message)
