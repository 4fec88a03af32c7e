"""What a consumer fetches, as Arrow batches: messages are taken many at a time and made into columns.

Offsets have gaps, left by transactions and compaction: they are positions, never counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from headrace.errors import TopicError
from headrace.topics.batches import concatenated
from headrace.topics.embedded.segments import HEADERS, RECORD_SCHEMA
from headrace.topics.kafka.client import client, passes

FETCHED_SCHEMA = pa.schema([*RECORD_SCHEMA, ("offset", pa.int64())])

# Enough in advance to keep busy; what lies beyond the last offset that is wanted was fetched in vain. With its own
# settings the client has 100,000 messages in advance, and stops for a second when it has.
FETCH_SETTINGS = {"queued.min.messages": 10_000, "fetch.queue.backoff.ms": 5, "fetch.wait.max.ms": 20}

_PROGRESS_WITHIN_S = 60.0
# Few enough to be made into columns while they are still in the processor's cache.
_AT_A_TIME = 500
_WAIT_S = 0.005
_MAX_ROWS = 50_000
_MAX_BYTES = 4 << 20


def fetched(consumer: Any, place: str, first: int, last: int, patience_s: float) -> Iterator[pa.RecordBatch]:
    """The records at offsets from `first` to `last`, the latter excluded, of the one partition a consumer reads.

    Raises:
        KafkaException: if the client says that it cannot go on.
        TopicError: if nothing comes for a minute, or for the time of patience if that is longer; names the place.
    """
    patience_s = max(_PROGRESS_WITHIN_S, patience_s)
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for messages in _arriving(consumer, place, first, last, patience_s):
        waiting.append(as_batch(messages))
        rows += len(messages)
        size += waiting[-1].nbytes
        if rows >= _MAX_ROWS or size >= _MAX_BYTES:
            yield concatenated(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield concatenated(waiting)


def _arriving(consumer: Any, place: str, first: int, last: int, patience_s: float) -> Iterator[list[Any]]:
    """Messages up to `last`; what lies behind the last of them may be markers of transactions only."""
    position, patient_until = first, time.monotonic() + patience_s
    while position < last:
        taken = consumer.consume(min(_AT_A_TIME, last - position), _WAIT_S)
        messages = [message for message in taken if message.error() is None]
        if len(messages) < len(taken):
            position = max(position, _end_told(taken, patience_s))
        if messages:
            position = max(position, messages[-1].offset() + 1)
            yield messages if position <= last else [message for message in messages if message.offset() < last]
        if taken:
            patient_until = time.monotonic() + patience_s
        elif time.monotonic() > patient_until:
            message = (
                f"{place} sent nothing from offset {position} on, for {patience_s:.0f} s; it should reach to "
                f"offset {last}."
            )
            raise TopicError(message)


def _end_told(taken: Sequence[Any], patience_s: float) -> int:
    """Where the partition ends, if that is what the client says; other errors that do not pass are raised."""
    kafka = client()
    end = 0
    for message in taken:
        error = message.error()
        if error is None:
            continue
        if error.code() == kafka.KafkaError._PARTITION_EOF:
            end = message.offset()
        elif not passes(error, waited_s=patience_s):
            raise kafka.KafkaException(error)
    return end


def as_batch(messages: Sequence[Any]) -> pa.RecordBatch:
    """Messages as columns, with their offsets."""
    headers = [message.headers() for message in messages]
    arrays = [
        pa.array([message.key() for message in messages], pa.binary()),
        pa.array([message.value() for message in messages], pa.binary()),
        pa.array([message.timestamp()[1] for message in messages], pa.int64()),
        pa.array([listed or None for listed in headers], HEADERS) if any(headers) else pa.nulls(len(headers), HEADERS),
        pa.array([message.offset() for message in messages], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=FETCHED_SCHEMA)
