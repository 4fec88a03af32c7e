"""Converts records to Arrow batches and back: applies serdes column by column, and names the record that fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.partitioning import partitions_for
from headrace.errors import SerdeError, TopicError
from headrace.model.record import Headers, Record
from headrace.serdes import Serde
from headrace.serdes.topics import for_topic
from headrace.topics.embedded.names import check_partition
from headrace.topics.embedded.segments import RECORD_SCHEMA

AnyRecord = Record[Any, Any]

_CHUNK = 1 << 16


class RecordEncoder:
    """Encodes the records of one `produce` call into one batch per partition. `count` is how many there were so far.

    Records without a key go to the partitions in turn: the first to partition `turn % partitions`.
    """

    def __init__(self, topic: str, partitions: int, turn: int, key_serde: Serde[Any], value_serde: Serde[Any]) -> None:
        self._topic = topic
        self._partitions = partitions
        self._turn = turn
        self._key_serde, self._value_serde = for_topic(topic, key_serde, value_serde)
        self.count = 0

    def encode_in_chunks(self, records: Iterable[AnyRecord]) -> Iterator[Iterator[tuple[int, pa.RecordBatch]]]:
        """Encodes any number of records; each chunk of them fits into memory."""
        remaining = iter(records)
        while chunk := tuple(islice(remaining, _CHUNK)):
            yield self.encode(chunk)

    def encode(self, records: Sequence[AnyRecord]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yields the partition and the batch for each partition that gets any of these records."""
        batch = self._to_batch(records)
        partitions = self._choose_partitions(records, batch.column("key"))
        self.count += len(records)
        batch = batch.take(pa.array(np.argsort(partitions, kind="stable")))
        ends = np.cumsum(np.bincount(partitions, minlength=self._partitions))
        for partition, (start, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
            if start < end:
                yield partition, batch.slice(start, end - start)

    def _to_batch(self, records: Sequence[AnyRecord]) -> pa.RecordBatch:
        others = [record for record in records if not isinstance(record, Record)]
        if others:
            message = f"Topic {self._topic!r} takes records, not {others[0]!r}; pass Record(key, value, timestamp_ms)."
            raise TopicError(message)
        now_ms = time.time_ns() // 1_000_000
        keys, headers = self._serialize(
            self._key_serde, [record.key for record in records], [record.headers for record in records], "key"
        )
        values, headers = self._serialize(self._value_serde, [record.value for record in records], headers, "value")
        columns = [
            keys,
            values,
            [now_ms if record.timestamp_ms is None else record.timestamp_ms for record in records],
            [pairs or None for pairs in headers],
        ]
        arrays = [self._array(column, field) for column, field in zip(columns, RECORD_SCHEMA, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA)

    def _serialize(
        self, serde: Serde[Any], data: Sequence[Any], headers: Sequence[Headers], part: str
    ) -> tuple[Sequence[bytes | None], Sequence[Headers]]:
        if not serde.uses_headers:
            return _convert(data, serde.serialize, self._describe(part)), headers
        written = _convert(
            list(zip(data, headers, strict=True)), lambda one: serde.serialize_with_headers(*one), self._describe(part)
        )
        return [raw for raw, _ in written], [pairs for _, pairs in written]

    def _array(self, column: Sequence[Any], field: pa.Field) -> pa.Array:
        try:
            return pa.array(column, field.type)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
            message = f"Topic {self._topic!r} stores the {field.name} of a record as {field.type}: {error}"
            raise TopicError(message) from error

    def _choose_partitions(self, records: Sequence[AnyRecord], keys: pa.Array) -> npt.NDArray[np.int32]:
        partitions = partitions_for(keys, self._partitions)
        for i, record in enumerate(records):
            if record.partition is not None:
                check_partition(self._topic, record.partition, self._partitions)
                partitions[i] = record.partition
        without_key = np.flatnonzero(partitions < 0)
        partitions[without_key] = (self._turn + np.arange(len(without_key))) % self._partitions
        self._turn += len(without_key)
        return partitions

    def _describe(self, part: str) -> Callable[[int], str]:
        first = self.count
        return lambda i: f"Topic {self._topic!r}, {part} of record {first + i} of this call"


def decode(
    topic: str, partition: int, first: int, batch: pa.RecordBatch, key_serde: Serde[Any], value_serde: Serde[Any]
) -> Iterable[AnyRecord]:
    """Decodes the records of a batch. Without an `offset` column, offsets count up from `first`."""
    offsets = offsets_of(batch, first)

    def describe(part: str) -> Callable[[int], str]:
        return lambda i: f"Topic {topic!r}, partition {partition}, offset {offsets[i]}, {part}"

    headers = list(_headers(batch.column("headers")))
    key_serde, value_serde = for_topic(topic, key_serde, value_serde)
    keys = _deserialize(key_serde, batch.column("key"), headers, describe("key"))
    values = _deserialize(value_serde, batch.column("value"), headers, describe("value"))
    timestamps = batch.column("timestamp").to_pylist()
    negative = next((i for i, timestamp_ms in enumerate(timestamps) if timestamp_ms < 0), None)
    if negative is not None:
        message = (
            f"{describe('timestamp')(negative)}: {timestamps[negative]} is negative. An application passes such a "
            "record to its timestamp extractor, or to its deserialization exception handler."
        )
        raise TopicError(message)
    return map(Record, keys, values, timestamps, headers, [partition] * len(keys))


def _deserialize(
    serde: Serde[Any], column: pa.Array, headers: Sequence[Headers], describe: Callable[[int], str]
) -> Sequence[Any]:
    data = column.to_pylist()
    if not serde.uses_headers:
        return _convert(data, serde.deserialize, describe)
    return _convert(list(zip(data, headers, strict=True)), lambda one: serde.deserialize_with_headers(*one), describe)


def offsets_of(batch: pa.RecordBatch, first: int) -> Sequence[int]:
    """The offsets of a batch's records: those in its `offset` column, or else consecutive ones from `first` on."""
    if "offset" in batch.schema.names:
        offsets: list[int] = batch.column("offset").to_pylist()
        return offsets
    return range(first, first + batch.num_rows)


def _headers(column: pa.Array) -> list[Headers]:
    if column.null_count == len(column):
        return [()] * len(column)
    return [tuple((header["key"], header["value"]) for header in headers or ()) for headers in column.to_pylist()]


def _convert(column: Sequence[Any], convert: Callable[[Any], Any], describe: Callable[[int], str]) -> list[Any]:
    converted: list[Any] = []
    try:
        # After an error `extend` leaves the values converted so far: their number is the index of the one that failed.
        converted.extend(None if value is None else convert(value) for value in column)
    except Exception as error:
        message = f"{describe(len(converted))}: {error}"
        raise SerdeError(message) from error
    return converted
