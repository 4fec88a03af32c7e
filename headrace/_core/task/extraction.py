"""Event time from a user's timestamp extractor. The partition time that the extractor gets survives restarts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headrace._core.drop_reasons import DropReason
from headrace._core.errors.failure import processing_error
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._core.operators.topics.source import Source
from headrace._core.task.chunk import Chunk, RecordColumns
from headrace._core.task.context import TaskContext
from headrace._core.task.order import Order
from headrace._state.bytes.api import ByteStore
from headrace.model.processor import RecordMetadata
from headrace.model.record import check_timestamp
from headrace.model.time.timestamps import ConsumerRecord, Extractor

if TYPE_CHECKING:
    from headrace._core.task.decoding import Decoded


def extract_times(
    chunk: Chunk,
    records: Decoded,
    topic_partition: tuple[str, int],
    extractor: Extractor,
    partition_times: ByteStore,
    source: Source,
    context: TaskContext,
) -> Chunk:
    """Returns the chunk with extracted timestamps. Drops records whose extracted timestamp is negative.

    Undecodable records remain, because the error policy handles them; the extractor is not called for them. Records too
    far ahead of the wall clock remain, because the source rejects them. Neither advance the partition time.
    """
    keys, values, columns, poison = records
    topic, partition = topic_partition
    stored_under = f"{topic}-{partition}".encode()
    stored = partition_times.get(stored_under)
    partition_time_ms = int(stored) if stored else -1
    operator, latest_ms, system_time_ms = source.name, source.latest_ms, context.system_time_ms
    offsets = chunk.order.offset.tolist()
    rows: list[int] = []
    timestamps: list[int] = []
    partition_times_ms: list[int] = []
    for row, offset in enumerate(offsets):
        if row in poison:
            rows.append(row)
            timestamps.append(columns.timestamps[row])
            partition_times_ms.append(partition_time_ms)
            continue
        headers = columns.headers[row] if columns.headers else ()
        record = ConsumerRecord(
            topic, partition, offset, keys[row], values[row], columns.timestamps[row], headers, system_time_ms
        )
        try:
            extracted = extractor(record, partition_time_ms)
            check_timestamp(extracted, "the timestamp extractor returned")
            timestamp_ms = int(extracted)
        except USER_ERRORS as error:
            metadata = RecordMetadata(topic, partition, offset)
            raise processing_error(error, context.task_id, metadata, key=keys[row], operator=operator) from error
        if timestamp_ms < 0:
            context.drop(operator, DropReason.NEGATIVE_TIMESTAMP)
            continue
        if timestamp_ms <= latest_ms:
            partition_time_ms = max(partition_time_ms, timestamp_ms)
        rows.append(row)
        timestamps.append(timestamp_ms)
        partition_times_ms.append(partition_time_ms)
    partition_times.put(stored_under, str(partition_time_ms).encode())
    order = Order(np.array(partition_times_ms, np.int64), chunk.order.source[rows], chunk.order.offset[rows])
    return Chunk(chunk.topic, order, np.array(timestamps, np.int64), lambda: _select(columns, rows, timestamps))


def _select(columns: RecordColumns, rows: Sequence[int], timestamps: Sequence[int]) -> RecordColumns:
    return RecordColumns(
        [columns.keys[row] for row in rows],
        [columns.values[row] for row in rows],
        timestamps,
        None if columns.headers is None else [columns.headers[row] for row in rows],
        [columns.timestamps[row] for row in rows],
    )
