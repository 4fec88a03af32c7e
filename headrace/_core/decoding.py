"""From chunks to records: serdes and extractors, and errors that name the record they failed at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from headrace._core.chunk import Chunk, Columns, merged
from headrace._core.context import TaskContext
from headrace._core.extraction import extracted
from headrace._core.failure import processing_error
from headrace._core.operators.source import Source
from headrace._state.api import ByteStore
from headrace.timestamps import Extractor


class Decoded(NamedTuple):
    """The records of a chunk: decoded keys and values beside what they were made of."""

    keys: Sequence[Any]
    values: Sequence[Any]
    columns: Columns


class Stretch(NamedTuple):
    """Records `start` to `stop` of a chunk; the place of the first of them in the order of the batch is `first`."""

    source: Source
    records: Decoded
    start: int
    stop: int
    first: int


class Decoder:
    """Decodes chunks of the topics of some sources.

    Args:
        context: that of the task.
        sources: the source of each topic.
        extractors: for topics whose event time is not the record's own timestamp.
        partition_times: where the time each input partition has reached is kept, for the extractors.
    """

    def __init__(
        self,
        context: TaskContext,
        sources: Mapping[str, Source],
        extractors: Mapping[str, Extractor],
        partition_times: ByteStore | None,
    ) -> None:
        self.sources = sources
        self.extractors = extractors
        self._context = context
        self._partition_times = partition_times

    def with_extracted_times(self, chunk: Chunk) -> Chunk:
        """The chunk with the timestamps that the extractor of its topic gives, if there is one."""
        extractor = self.extractors.get(chunk.topic)
        if extractor is None:
            return chunk
        source = self.sources[chunk.topic]
        keys, values, columns = self._decoded(source, chunk)
        place = self._context.places[int(chunk.order.source[0])]
        assert self._partition_times is not None
        return extracted(chunk, columns, keys, values, place, extractor, self._partition_times, source, self._context)

    def in_order(self, chunks: Sequence[Chunk]) -> Iterator[Stretch]:
        """All records in their one order, which is then in the context; a chunk is decoded when its turn comes."""
        self._context.order, runs = merged(chunks)
        loaded: dict[int, Decoded] = {}
        first = 0
        for index, start, stop in runs:
            chunk = chunks[index]
            source = self.sources[chunk.topic]
            if index not in loaded:
                loaded[index] = self._decoded(source, chunk)
                self._context.metrics.add(source.name, "records_in", chunk.rows)
            self._context.topic = chunk.topic
            yield Stretch(source, loaded[index], start, stop, first)
            first += stop - start
            if stop == chunk.rows:
                del loaded[index]

    def valid_batch(self, chunk: Chunk) -> pa.RecordBatch:
        """The records of a chunk, all of which can be decoded."""
        assert chunk.load_batch is not None
        source, records = self.sources[chunk.topic], chunk.load_batch()
        if not source.accepts(records):
            self._raise_undecodable(source, chunk, chunk.load())
        return records

    def _decoded(self, source: Source, chunk: Chunk) -> Decoded:
        columns = chunk.load()
        try:
            keys, values = source.decode(columns.keys, columns.values)
        except Exception:
            self._raise_undecodable(source, chunk, columns)
            raise
        return Decoded(keys, values, columns)

    def _raise_undecodable(self, source: Source, chunk: Chunk, columns: Columns) -> None:
        for row, (key, value) in enumerate(zip(columns.keys, columns.values, strict=True)):
            try:
                source.decode([key], [value])
            except Exception as error:
                raise processing_error(
                    error,
                    self._context.task_id,
                    self._context.metadata_at(chunk.order, row),
                    key=key,
                    timestamp_ms=columns.timestamps[row],
                    operator=source.name,
                ) from error
