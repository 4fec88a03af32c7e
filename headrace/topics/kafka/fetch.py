"""Fetches the messages of a partition as Arrow batches.

Offsets have gaps, left by transactions and compaction: the difference of two offsets is not a number of records.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from headrace.errors import TopicError
from headrace.topics.batches import concatenate
from headrace.topics.embedded.segments import HEADERS, RECORD_SCHEMA
from headrace.topics.kafka.client import client, is_temporary

FETCHED_SCHEMA = pa.schema([*RECORD_SCHEMA, ("offset", pa.int64())])

# Prefetch enough to stay busy, but not much: messages beyond the last wanted offset are fetched in vain. By default the
# client prefetches 100,000 messages, and then pauses for a second.
FETCH_SETTINGS = {"queued.min.messages": 10_000, "fetch.queue.backoff.ms": 5, "fetch.wait.max.ms": 20}

_PROGRESS_WITHIN_S = 60.0
# Few enough to be converted to columns while they are in the processor's cache.
_AT_A_TIME = 500
_WAIT_S = 0.005
_MAX_ROWS = 50_000
_MAX_BYTES = 4 << 20


def fetch(consumer: Any, subject: str, first: int, last: int, retry_timeout_s: float) -> Iterator[pa.RecordBatch]:
    """Fetches the records at offsets `first` to `last`, exclusive, of the partition that is assigned to a consumer.

    Raises:
        KafkaException: if the client reports an error that is not temporary.
        TopicError: if nothing arrives for a minute, or for `retry_timeout_s` if that is longer. The message begins
            with `subject`.
    """
    timeout_s = max(_PROGRESS_WITHIN_S, retry_timeout_s)
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for messages in _consume(consumer, subject, first, last, timeout_s):
        pending.append(to_batch(messages))
        rows += len(messages)
        size += pending[-1].nbytes
        if rows >= _MAX_ROWS or size >= _MAX_BYTES:
            yield concatenate(pending)
            pending, rows, size = [], 0, 0
    if pending:
        yield concatenate(pending)


def _consume(consumer: Any, subject: str, first: int, last: int, timeout_s: float) -> Iterator[list[Any]]:
    """Yields the messages at offsets `first` to `last`, exclusive.

    The last offsets may be transaction markers, which are no messages. Then the end of the partition ends the loop.
    """
    position, deadline_s = first, time.monotonic() + timeout_s
    while position < last:
        consumed = consumer.consume(min(_AT_A_TIME, last - position), _WAIT_S)
        messages = [message for message in consumed if message.error() is None]
        if len(messages) < len(consumed):
            position = max(position, _partition_end(consumed, timeout_s))
        if messages:
            position = max(position, messages[-1].offset() + 1)
            yield messages if position <= last else [message for message in messages if message.offset() < last]
        if consumed:
            deadline_s = time.monotonic() + timeout_s
        elif time.monotonic() > deadline_s:
            message = (
                f"{subject} sent nothing from offset {position} on, for {timeout_s:.0f} s; it should have records up "
                f"to offset {last}."
            )
            raise TopicError(message)


def _partition_end(consumed: Sequence[Any], waited_s: float) -> int:
    """The end offset of the partition if the client has reported it, else 0.

    Raises:
        KafkaException: if the client has reported an error that is not temporary.
    """
    kafka = client()
    end = 0
    for message in consumed:
        error = message.error()
        if error is None:
            continue
        if error.code() == kafka.KafkaError._PARTITION_EOF:
            end = message.offset()
        elif not is_temporary(error, waited_s=waited_s):
            raise kafka.KafkaException(error)
    return end


def to_batch(messages: Sequence[Any]) -> pa.RecordBatch:
    """Converts messages to a batch with a column of offsets."""
    headers = [message.headers() for message in messages]
    arrays = [
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([message.value() for message in messages], pa.binary()),
        pa.array([message.timestamp()[1] for message in messages], pa.int64()),
        pa.array([listed or None for listed in headers], HEADERS) if any(headers) else pa.nulls(len(headers), HEADERS),
        pa.array([message.offset() for message in messages], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=FETCHED_SCHEMA)
