"""Timestamp extractors: functions that return the event time of an input record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

import msgspec

from headrace.errors import StreamsError
from headrace.model.record import Headers
from headrace.model.type_variables import TypeVar

K = TypeVar("K", covariant=True, default=Any)
V = TypeVar("V", covariant=True, default=Any)


class ConsumerRecord(msgspec.Struct, Generic[K, V], frozen=True):
    """An input record, for a timestamp extractor: decoded, with topic, partition, offset and its own timestamp.

    `ConsumerRecord[K, V]` declares the types of keys and values; without type arguments they are `Any`. `timestamp_ms`
    is the timestamp in the topic. `system_time_ms` is the wall-clock time of the micro-batch, or of the test driver.
    Use it instead of `time.time()`: a micro-batch that is repeated after a failure gets the same time again.

    Example:
        >>> import headrace as hr
        >>> def paid_at(record: hr.ConsumerRecord, partition_time_ms: int) -> int:
        ...     return record.value["paid_ms"]
        >>> payments = hr.StreamsBuilder().stream("payments", timestamp_extractor=paid_at)
    """

    topic: str
    partition: int
    offset: int
    key: K
    value: V
    timestamp_ms: int
    headers: Headers = ()
    system_time_ms: int = 0


def wallclock_timestamp(record: ConsumerRecord, partition_time_ms: int) -> int:  # noqa: ARG001
    """Returns the wall-clock time of the micro-batch, or of the test driver, and ignores the timestamp of the record.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import TopologyTestDriver
        >>> builder = hr.StreamsBuilder()
        >>> builder.stream("in", timestamp_extractor=hr.wallclock_timestamp).to("out")
        >>> with TopologyTestDriver(builder.build(), wall_clock_ms=1000) as driver:
        ...     driver.input_topic("in").pipe("k", "v", timestamp_ms=7)
        ...     driver.output_topic("out").read_all()
        [Record(key='k', value='v', timestamp_ms=1000)]
    """
    return record.system_time_ms


def fail_on_invalid_timestamp(record: ConsumerRecord, partition_time_ms: int) -> int:  # noqa: ARG001
    """Returns the record's own timestamp; fails if it is negative. The default extractor.

    The setting `deserialization_exception_handler` decides what happens after the failure.
    """
    if record.timestamp_ms < 0:
        message = (
            f"Record {record.topic}-{record.partition}@{record.offset} has the invalid timestamp "
            f"{record.timestamp_ms}. Use timestamp_extractor=log_and_skip_on_invalid_timestamp to drop such records, "
            "or an extractor of your own."
        )
        raise StreamsError(message)
    return record.timestamp_ms


def log_and_skip_on_invalid_timestamp(record: ConsumerRecord, partition_time_ms: int) -> int:  # noqa: ARG001
    """Returns the record's own timestamp; a record with a negative one is dropped and counted."""
    return record.timestamp_ms


def use_partition_time_on_invalid_timestamp(record: ConsumerRecord, partition_time_ms: int) -> int:
    """Returns the record's own timestamp; if it is negative, the highest timestamp of its partition so far.

    If no earlier record of the partition has a valid timestamp, the application fails, whatever the error handlers say.
    """
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
"""`(record, partition_time_ms) -> timestamp_ms`, in epoch milliseconds; a negative timestamp drops the record.

`partition_time_ms` is the highest timestamp that was extracted so far in the record's partition, -1 before the first.
"""
