"""Decodes chunks, with serdes and timestamp extractors. Undecodable records are handled when their turn comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from headrace._core.drop_reasons import DropReason
from headrace._core.operators.topics.source import Source
from headrace._core.task.chunk import Chunk, RecordColumns, merged
from headrace._core.task.context import TaskContext
from headrace._core.task.extraction import extract_times
from headrace._state.bytes.api import ByteStore
from headrace.errors import StreamsError
from headrace.model.time.timestamps import Extractor
from headrace.serdes.topics import deserialize_column


class Poison(NamedTuple):
    """Why a record cannot be processed."""

    reason: DropReason
    error: Exception


class Decoded(NamedTuple):
    """A decoded chunk: keys and values, and the columns they come from.

    `poison` says by row which records cannot be processed, and why.
    """

    keys: Sequence[Any]
    values: Sequence[Any]
    columns: RecordColumns
    poison: Mapping[int, Poison]


class Stretch(NamedTuple):
    """Consecutive records of a decoded chunk: the rows from `start` to before `stop`.

    `first` is the position of the first of them in the order of the batch.
    """

    source: Source
    records: Decoded
    start: int
    stop: int
    first: int


class Decoder:
    """Decodes chunks of the topics of some sources.

    Args:
        context: the task's context.
        sources: sources by topic.
        extractors: by topic, where the event time is not the record's own timestamp.
        partition_times: stores the highest timestamp of each input partition, for the extractors.
    """

    def __init__(
        self,
        context: TaskContext,
        sources: Mapping[str, Source],
        extractors: Mapping[str, Extractor],
        partition_times: ByteStore | None,
    ) -> None:
        self.sources = dict(sources)
        self.extractors = dict(extractors)
        self._context = context
        self._partition_times = partition_times

    def add_topic(self, topic: str, source: Source, extractor: Extractor | None) -> None:
        """Decodes the records of one more topic, which has begun to match the pattern of a source."""
        self.sources[topic] = source
        if extractor is not None:
            self.extractors[topic] = extractor

    def with_extracted_times(self, chunk: Chunk) -> Chunk:
        """The chunk with the timestamps that the extractor of its topic returns, if there is one."""
        extractor = self.extractors.get(chunk.topic)
        if extractor is None:
            return chunk
        source = self.sources[chunk.topic]
        records = self._decode(source, chunk)
        topic_partition = self._context.places[int(chunk.order.source[0])]
        assert self._partition_times is not None
        return extract_times(chunk, records, topic_partition, extractor, self._partition_times, source, self._context)

    def in_order(self, chunks: Sequence[Chunk]) -> Iterator[Stretch]:
        """Yields all records in the one order, and appends their positions to the context.

        A chunk is decoded when its turn comes. Records that cannot be processed are not yielded: they go to the error
        policy when their turn comes.
        """
        order, runs = merged(chunks)
        first = self._context.append(order)
        loaded: dict[int, Decoded] = {}
        for index, start, stop in runs:
            chunk = chunks[index]
            source = self.sources[chunk.topic]
            if index not in loaded:
                loaded[index] = self._decode(source, chunk)
                self._context.metrics.add(source.name, "records_in", chunk.rows)
            self._context.topic = chunk.topic
            self._context.columns, self._context.row_shift = loaded[index].columns, start - first
            stretch = Stretch(source, loaded[index], start, stop, first)
            if loaded[index].poison:
                yield from self._without_poison(stretch)
            else:
                yield stretch
            first += stop - start
            if stop == chunk.rows:
                del loaded[index]

    def raise_undecodable(self, chunks: Sequence[Chunk]) -> None:
        """Decodes all records and does nothing else, so that the error policy raises for the first that fails."""
        deque(self.in_order(chunks), maxlen=0)

    def valid_batch(self, chunk: Chunk) -> pa.RecordBatch | None:
        """The records of a chunk as a batch; `None` if one of them cannot be decoded."""
        assert chunk.load_batch is not None
        try:
            return self.sources[chunk.topic].checked(chunk.load_batch())
        except Exception:
            return None

    def _without_poison(self, stretch: Stretch) -> Iterator[Stretch]:
        source, records, start, stop, _ = stretch
        context, shift = self._context, self._context.row_shift
        for row in range(start, stop):
            if row in records.poison:
                if start < row:
                    yield Stretch(source, records, start, row, start - shift)
                context.position, start = row - shift, row + 1
                context.errors.undecodable(source.name, *records.poison[row])
        if start < stop:
            yield Stretch(source, records, start, stop, start - shift)

    def _decode(self, source: Source, chunk: Chunk) -> Decoded:
        columns = chunk.load()
        try:
            key_serde, value_serde = source.serdes_of(chunk.topic)
            keys = deserialize_column(key_serde, columns.keys, columns.headers)
            values = deserialize_column(value_serde, columns.values, columns.headers)
            records = Decoded(keys, values, columns, {})
        except Exception:
            records = _decode_one_by_one(source, chunk.topic, columns)
        if chunk.topic in self.extractors or chunk.timestamps.min() >= 0:
            return records
        negative = {row: _negative_timestamp(at_ms) for row, at_ms in enumerate(columns.timestamps) if at_ms < 0}
        return records._replace(poison={**negative, **records.poison})


def _decode_one_by_one(source: Source, topic: str, columns: RecordColumns) -> Decoded:
    key_serde, value_serde = source.serdes_of(topic)
    keys: list[Any] = [None] * len(columns.keys)
    values: list[Any] = [None] * len(columns.values)
    poison: dict[int, Poison] = {}
    headers = columns.headers or [()] * len(keys)
    for row, (key, value) in enumerate(zip(columns.keys, columns.values, strict=True)):
        reason = DropReason.UNDECODABLE_KEY
        try:
            keys[row] = key_serde.deserialize_with_headers(key, headers[row])
            reason = DropReason.UNDECODABLE_VALUE
            values[row] = value_serde.deserialize_with_headers(value, headers[row])
        except Exception as error:
            poison[row] = Poison(reason, error)
    return Decoded(keys, values, columns, poison)


def _negative_timestamp(timestamp_ms: int) -> Poison:
    message = f"the timestamp {timestamp_ms} is negative, and the source has no timestamp_extractor to give it another"
    return Poison(DropReason.NEGATIVE_TIMESTAMP, StreamsError(message))
