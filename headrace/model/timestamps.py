"""Timestamp extractors: where a record's event time comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from headrace.errors import StreamsError
from headrace.model.record import Headers


class ConsumerRecord(msgspec.Struct, frozen=True):
    """An input record as a timestamp extractor sees it: decoded, with its place in the topic and its raw timestamp."""

    topic: str
    partition: int
    offset: int
    key: Any
    value: Any
    timestamp_ms: int
    headers: Headers = ()


def fail_on_invalid_timestamp(record: ConsumerRecord, partition_time_ms: int) -> int:  # noqa: ARG001
    """The record's own timestamp; a negative one is for `deserialization_exception_handler` to decide. The default."""
    if record.timestamp_ms < 0:
        message = (
            f"Record {record.topic}-{record.partition}@{record.offset} has the invalid timestamp "
            f"{record.timestamp_ms}. Use timestamp_extractor=log_and_skip_on_invalid_timestamp to drop such records, "
            "or an extractor of your own."
        )
        raise StreamsError(message)
    return record.timestamp_ms


def log_and_skip_on_invalid_timestamp(record: ConsumerRecord, partition_time_ms: int) -> int:  # noqa: ARG001
    """The record's own timestamp; a record with a negative one is dropped and counted."""
    return record.timestamp_ms


def use_partition_time_on_invalid_timestamp(record: ConsumerRecord, partition_time_ms: int) -> int:
    """The record's own timestamp, or the partition's time where that is negative."""
    if record.timestamp_ms >= 0:
        return record.timestamp_ms
    if partition_time_ms < 0:
        message = (
            f"Record {record.topic}-{record.partition}@{record.offset} has the invalid timestamp {record.timestamp_ms} "
            "and no earlier record of its partition has a valid one."
        )
        raise StreamsError(message)
    return partition_time_ms


Extractor = Callable[[ConsumerRecord, int], int]
"""Gives the event time of an input record in epoch milliseconds; a negative answer drops the record.

It is told the highest timestamp already taken from the record's partition, -1 if none.
"""
