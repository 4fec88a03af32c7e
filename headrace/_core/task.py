"""A task: the operators of one sub-topology for one partition, run over its records in their one order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from headrace._core.chunk import Chunk, Columns, merged, merged_batches
from headrace._core.columnar.batch import of_records
from headrace._core.columnar.compile import Form
from headrace._core.columnar.failing import RowError
from headrace._core.columnar.stream_join import StreamJoinForm
from headrace._core.context import TaskContext
from headrace._core.extraction import extracted
from headrace._core.failure import idle_error, processing_error
from headrace._core.operator import Operator
from headrace._core.operators.source import Source
from headrace._core.order import Order
from headrace._core.processors import Processors
from headrace._state.api import ByteStore
from headrace.errors import SerdeError
from headrace.processor import PunctuationType
from headrace.record import Record
from headrace.timestamps import Extractor

_HAND_OUT_ROWS = 20_000
_JOINED_ROWS = 200_000
_IS_LEFT = "is left"

_Decoded = tuple[Sequence[Any], Sequence[Any], Columns]


class Task:
    """Runs batches of chunks through the operators.

    Args:
        context: what the operators share.
        operators: all operators of the sub-topology, connected.
        sources: the source of each topic.
        forms: the batch form of what follows a topic's source, where there is one.
        joins: the batch form of the join that a topic's source is a side of, where there is one.
        extractors: for topics whose event time is not the record's own timestamp.
        partition_times: where the time each input partition has reached is kept, for the extractors.
        processors: those of the user's among the operators, if there are any.
    """

    def __init__(
        self,
        context: TaskContext,
        operators: Sequence[Operator],
        sources: Mapping[str, Source],
        forms: Mapping[str, Form],
        joins: Mapping[str, StreamJoinForm],
        extractors: Mapping[str, Extractor],
        partition_times: ByteStore | None,
        processors: Callable[[], Processors] | None = None,
    ) -> None:
        self.context = context
        self._sources = sources
        self._forms = forms
        self._joins = joins
        self._extractors = extractors
        self._partition_times = partition_times
        self._operators = operators
        for operator in operators:
            operator.init(context)
        self.processors = processors() if processors is not None else None

    def process(self, chunks: Sequence[Chunk]) -> Iterator[None]:
        """Processes all records of a batch; stops now and then, for what was written so far to be taken away.

        The order of the records is then in the context, where `position` counts through it.
        """
        chunks = [self._with_extracted_times(chunk) for chunk in chunks if chunk.rows]
        if not chunks:
            return
        yield from self._process(chunks)
        if self.processors is not None:
            self.processors.save()

    def punctuate(self) -> None:
        """Runs what is due by the wall clock, then closes idle keys. What was written before must have been taken away.

        What a punctuation forwards of a key counts as seen.
        """
        self.context.order, self.context.position = Order.of_clock(self.context.system_time_ms), 0
        if self.processors is not None:
            self.processors.punctuate(PunctuationType.WALL_CLOCK_TIME)
        for operator in self._operators:
            if operator.idle is not None:
                self._close_idle(operator)

    def next_wall_clock_ms(self) -> int | None:
        """When the wall clock next has something to do, if nothing arrives."""
        due = [operator.idle.next_due_ms() for operator in self._operators if operator.idle is not None]
        if self.processors is not None:
            due.append(self.processors.next_wall_clock_ms())
        return min((due_ms for due_ms in due if due_ms is not None), default=None)

    def _close_idle(self, operator: Operator) -> None:
        context = self.context
        context.punctuating = True
        try:
            operator.close_idle()
        except Exception as error:
            raise idle_error(error, context.task_id, operator.name, context.system_time_ms) from error
        finally:
            context.punctuating = False

    def _process(self, chunks: Sequence[Chunk]) -> Iterator[None]:
        form = self._form_for(chunks)
        if form is not None:
            yield from self._process_columns(form, chunks)
            return
        join = self._join_for(chunks)
        if join is not None:
            yield from self._process_join(join, chunks)
            return
        self.context.order, runs = merged(chunks)
        loaded: dict[int, _Decoded] = {}
        first = handed_out = 0
        for index, start, stop in runs:
            chunk = chunks[index]
            source = self._sources[chunk.topic]
            if index not in loaded:
                loaded[index] = self._decoded(source, chunk)
                self.context.metrics.add(source.name, "records_in", chunk.rows)
            self.context.topic = chunk.topic
            self._forward(source, loaded[index], start, stop, first)
            first += stop - start
            if stop == chunk.rows:
                del loaded[index]
            if first - handed_out >= _HAND_OUT_ROWS:
                handed_out = first
                yield

    def _form_for(self, chunks: Sequence[Chunk]) -> Form | None:
        """The batch form, if all input comes the one way that has it: batches of two ways cannot interleave."""
        topic = chunks[0].topic
        if any(chunk.topic != topic for chunk in chunks) or not self._is_plain(chunks):
            return None
        return self._forms.get(topic)

    def _join_for(self, chunks: Sequence[Chunk]) -> StreamJoinForm | None:
        """The batch form of the join that all input is for, of one side or both."""
        join = self._joins.get(chunks[0].topic)
        if join is None or any(chunk.topic not in join.sides for chunk in chunks) or not self._is_plain(chunks):
            return None
        return join

    def _is_plain(self, chunks: Sequence[Chunk]) -> bool:
        """Whether nothing has to be asked of single records before they are processed."""
        return not any(
            chunk.topic in self._extractors
            or chunk.load_batch is None
            or int(chunk.timestamps.max()) > self._sources[chunk.topic].latest_ms
            for chunk in chunks
        )

    def _process_columns(self, form: Form, chunks: Sequence[Chunk]) -> Iterator[None]:
        self.context.topic = chunks[0].topic
        source = self._sources[self.context.topic]
        self.context.order, batches = merged_batches(chunks, lambda chunk: self._valid_batch(source, chunk))
        first = 0
        for records in batches:
            self.context.metrics.add(source.name, "records_in", records.num_rows)
            with self._told():
                form(of_records(records, first))
            first += records.num_rows
            yield

    def _process_join(self, join: StreamJoinForm, chunks: Sequence[Chunk]) -> Iterator[None]:
        self.context.order, batches = merged_batches(chunks, lambda chunk: _sided(chunk, join.sides[chunk.topic]))
        for chunk in chunks:
            self.context.metrics.add(self._sources[chunk.topic].name, "records_in", chunk.rows)
        first = 0
        for records in batches:
            for start in range(0, records.num_rows, _JOINED_ROWS):
                part = records.slice(start, _JOINED_ROWS)
                is_left = part.column(_IS_LEFT).to_numpy(zero_copy_only=False)
                try:
                    with self._told():
                        join(of_records(part, first), is_left)
                except SerdeError:
                    for chunk in chunks:
                        self._raise_undecodable(self._sources[chunk.topic], chunk, chunk.load())
                    raise
                first += part.num_rows
                yield

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tells of a failing record of a batch what the record path tells."""
        try:
            yield
        except RowError as failed:
            metadata = self.context.metadata_at(self.context.order, failed.position)
            raise processing_error(
                failed.cause, self.context.task_id, metadata, key=failed.key, timestamp_ms=failed.timestamp_ms
            ) from failed.cause

    def _valid_batch(self, source: Source, chunk: Chunk) -> pa.RecordBatch:
        assert chunk.load_batch is not None
        records = chunk.load_batch()
        if not source.accepts(records):
            self._raise_undecodable(source, chunk, chunk.load())
        return records

    def _forward(
        self,
        source: Source,
        records: _Decoded,
        start: int,
        stop: int,
        first: int,
    ) -> None:
        keys, values, columns = records
        context, forward, processors = self.context, source.forward, self.processors
        timestamps, headers = columns.timestamps, columns.headers
        latest_ms = source.latest_ms
        for row in range(start, stop):
            context.position = first + row - start
            if timestamps[row] > latest_ms:
                _refuse(source, columns, row)
                continue
            try:
                record = Record(keys[row], values[row], timestamps[row], headers[row] if headers else ())
                if processors is not None:
                    processors.advance(timestamps[row])
                forward(record)
            except Exception as error:
                metadata = context.metadata_at(context.order, context.position)
                raise processing_error(
                    error, context.task_id, metadata, key=keys[row], timestamp_ms=timestamps[row]
                ) from error
            if processors is not None:
                processors.punctuate(PunctuationType.STREAM_TIME)

    def _decoded(self, source: Source, chunk: Chunk) -> _Decoded:
        columns = chunk.load()
        try:
            keys, values = source.decode(columns.keys, columns.values)
        except Exception:
            self._raise_undecodable(source, chunk, columns)
            raise
        return keys, values, columns

    def _raise_undecodable(self, source: Source, chunk: Chunk, columns: Columns) -> None:
        for row, (key, value) in enumerate(zip(columns.keys, columns.values, strict=True)):
            try:
                source.decode([key], [value])
            except Exception as error:
                raise processing_error(
                    error,
                    self.context.task_id,
                    self.context.metadata_at(chunk.order, row),
                    key=key,
                    timestamp_ms=columns.timestamps[row],
                    operator=source.name,
                ) from error

    def _with_extracted_times(self, chunk: Chunk) -> Chunk:
        extractor = self._extractors.get(chunk.topic)
        if extractor is None:
            return chunk
        source = self._sources[chunk.topic]
        keys, values, columns = self._decoded(source, chunk)
        place = self.context.places[int(chunk.order.source[0])]
        assert self._partition_times is not None
        return extracted(chunk, columns, keys, values, place, extractor, self._partition_times, source, self.context)


def _sided(chunk: Chunk, is_left: bool) -> pa.RecordBatch:
    assert chunk.load_batch is not None
    return chunk.load_batch().append_column(_IS_LEFT, pa.repeat(is_left, chunk.rows))


def _refuse(source: Source, columns: Columns, row: int) -> None:
    timestamp_ms = columns.timestamps[row]
    recorded_ms = timestamp_ms if columns.recorded is None else columns.recorded[row]
    headers = columns.headers[row] if columns.headers else ()
    source.refuse(columns.keys[row], columns.values[row], timestamp_ms, recorded_ms, headers)
