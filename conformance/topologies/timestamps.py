"""Sources with a timestamp extractor."""

from __future__ import annotations

import headrace as hr
from conformance.registry import topology


@topology("extractor-of-value")
def extractor_of_value(builder: hr.StreamsBuilder) -> None:
    """The value is the timestamp; a negative one drops the record."""
    builder.stream("in", timestamp_extractor=_of_value).to("out")


@topology("extractor-of-partition-time")
def extractor_of_partition_time(builder: hr.StreamsBuilder) -> None:
    """The record's timestamp or the partition time, whichever is later, so that time never runs backwards."""
    builder.stream("in", timestamp_extractor=_never_backwards).to("out")


@topology("extractor-falling-back")
def extractor_falling_back(builder: hr.StreamsBuilder) -> None:
    """Negative values get the partition time; at first that is -1, which drops the record."""
    builder.stream("in", timestamp_extractor=_falling_back).to("out")


@topology("extractor-and-count")
def extractor_and_count(builder: hr.StreamsBuilder) -> None:
    builder.stream("in", timestamp_extractor=_of_value).group_by_key().count().to_stream().to("out")


def _of_value(record: hr.ConsumerRecord, partition_time_ms: int) -> int:  # noqa: ARG001
    return int(record.value)


def _never_backwards(record: hr.ConsumerRecord, partition_time_ms: int) -> int:
    return max(record.timestamp_ms, partition_time_ms)


def _falling_back(record: hr.ConsumerRecord, partition_time_ms: int) -> int:
    own = int(record.value)
    return own if own >= 0 else partition_time_ms
