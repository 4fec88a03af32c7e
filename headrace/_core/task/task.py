"""A task: the operators of one stage for one partition, which process its records in the one order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.caching import RecordCache
from headrace._core.columnar.batch import of_records
from headrace._core.columnar.compile import SourceForm
from headrace._core.columnar.joins.stream_stream import StreamJoinForm
from headrace._core.columnar.layout import RowError, UndecodableError
from headrace._core.errors.failure import idle_error, uncaught_error
from headrace._core.errors.handlers import stopping
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._core.operator import Operator
from headrace._core.operators.processors.lifecycle import Processors
from headrace._core.operators.topics.source import Source
from headrace._core.task.chunk import Chunk, chunks_after, merged_batches
from headrace._core.task.context import TaskContext
from headrace._core.task.decoding import Decoder, Stretch
from headrace._core.task.global_tables import GlobalTables
from headrace._core.task.order import Order
from headrace.errors import SerdeError
from headrace.model.processor import PunctuationType
from headrace.model.record import Record
from headrace.model.time.timestamps import Extractor

_ROWS_PER_YIELD = 20_000
_ROWS_PER_JOIN = 200_000
_IS_LEFT = "is left"


class Task:
    """Runs batches of chunks through the operators.

    Args:
        context: what the operators share.
        operators: all operators of the sub-topology, connected.
        decoder: decodes the topics of which the task reads one partition.
        forms: batch forms by topic, if everything downstream of their source has one.
        tables: updates the global tables; the task reads all partitions of their topics.
        joins: batch forms of stream-stream joins, by the topics of their sides.
        cache: holds the updates of cached tables until the end of a batch.
        processors: creates the user's processors, if the sub-topology has any.
        flushed_with_batch: if given, the cache is flushed after every record except those of these topics. With `None`,
            it is flushed at the end of a batch.
    """

    def __init__(
        self,
        context: TaskContext,
        operators: Sequence[Operator],
        decoder: Decoder,
        forms: Mapping[str, SourceForm],
        tables: GlobalTables,
        joins: Mapping[str, StreamJoinForm],
        cache: RecordCache,
        processors: Callable[[], Processors] | None = None,
        flushed_with_batch: Collection[str] | None = None,
    ) -> None:
        self.context = context
        self._decoder = decoder
        self._forms = forms
        self._tables = tables
        self._joins = joins
        self._cache = cache
        self._flushed_with_batch = flushed_with_batch
        self._operators = operators
        for operator in operators:
            operator.init(context)
        self.processors = processors() if processors is not None else None

    def add_topic(self, topic: str, source: str, extractor: Extractor | None) -> None:
        """Reads one more topic, which has begun to match the pattern of the source with that name."""
        reader = next(operator for operator in self._operators if operator.name == source)
        assert isinstance(reader, Source)
        self._decoder.add_topic(topic, reader, extractor)

    def process(self, chunks: Sequence[Chunk]) -> Iterator[None]:
        """Processes all records of a batch; yields now and then so that the caller can collect the output so far.

        Global tables are updated first, so that all other records see the same rows. The record cache is flushed at the
        end.
        """
        self.context.order = Order.of_nothing()
        with stopping():
            arrived = self._tables.apply([chunk for chunk in chunks if chunk.rows])
            timed = [self._decoder.with_extracted_times(chunk) for chunk in arrived]
            if not timed:
                return
            yield from self._process(timed)
            self._cache.flush()
            if self.processors is not None:
                self.processors.save()

    def punctuate(self) -> None:
        """Runs wall-clock punctuations that are due, then closes idle keys, then flushes the record cache.

        A key is not idle if a punctuation has just forwarded a record of it. The caller must have collected all earlier
        output, because the context's order is replaced.
        """
        self.context.order, self.context.position = Order.of_clock(self.context.system_time_ms), 0
        with stopping():
            if self.processors is not None:
                self.processors.punctuate(PunctuationType.WALL_CLOCK_TIME)
            for operator in self._operators:
                if operator.idle is not None:
                    self._close_idle(operator)
            self._cache.flush()

    def next_wall_clock_ms(self) -> int | None:
        """When the next wall-clock punctuation or idle key is due, if no record arrives before; `None` for never."""
        due = [operator.idle.next_due_ms() for operator in self._operators if operator.idle is not None]
        if self.processors is not None:
            due.append(self.processors.next_wall_clock_ms())
        return min((due_ms for due_ms in due if due_ms is not None), default=None)

    def _close_idle(self, operator: Operator) -> None:
        context = self.context
        context.fired_ms = context.system_time_ms
        try:
            operator.close_idle()
        except USER_ERRORS as error:
            raise idle_error(error, context.task_id, operator.name, context.system_time_ms) from error
        finally:
            context.fired_ms = None

    def _process(self, chunks: Sequence[Chunk]) -> Iterator[None]:
        form = self._form_for(chunks)
        if form is not None:
            yield from self._process_columns(form, chunks)
            return
        self._cache.use_records()
        join = self._join_for(chunks)
        if join is not None:
            yield from self._process_join(join, chunks)
            return
        yield from self._process_records(chunks)

    def _process_records(self, chunks: Sequence[Chunk]) -> Iterator[None]:
        yielded = 0
        for stretch in self._decoder.in_order(chunks):
            self._forward(stretch)
            done = stretch.first + stretch.stop - stretch.start
            if done - yielded >= _ROWS_PER_YIELD:
                yielded = done
                yield

    def _form_for(self, chunks: Sequence[Chunk]) -> SourceForm | None:
        """The batch form for chunks of one topic, if it has one. Batches of two topics cannot interleave."""
        topic = chunks[0].topic
        if any(chunk.topic != topic for chunk in chunks) or not self._is_uniform(chunks):
            return None
        return self._forms.get(topic)

    def _join_for(self, chunks: Sequence[Chunk]) -> StreamJoinForm | None:
        """The batch form of a join, if all input belongs to one or both of its sides."""
        join = self._joins.get(chunks[0].topic)
        if join is None or any(chunk.topic not in join.sides for chunk in chunks) or not self._is_uniform(chunks):
            return None
        return join

    def _is_uniform(self, chunks: Sequence[Chunk]) -> bool:
        """Whether all records can be processed in columns: without an extractor, and with timestamps in range."""
        return not any(
            chunk.topic in self._decoder.extractors
            or chunk.load_batch is None
            or chunk.timestamps.max() > self._decoder.sources[chunk.topic].latest_ms
            or chunk.timestamps.min() < 0
            for chunk in chunks
        )

    def _process_columns(self, form: SourceForm, chunks: Sequence[Chunk]) -> Iterator[None]:
        self.context.topic = chunks[0].topic
        source = self._decoder.sources[self.context.topic]
        order, batches = merged_batches(chunks, _load if form.decodes else self._decoder.valid_batch)
        first = start = self.context.append(order)
        self._cache.use_columns()
        for records in batches:
            try:
                with self._locate_errors(records, first, lambda _: source):
                    form.run(of_records(records, first))
            except UndecodableError:
                break  # the record path handles the rest: it finds the records that fail
            self.context.metrics.add(source.name, "records_in", records.num_rows)
            first += records.num_rows
            yield
        rest = chunks_after(chunks, first - start)
        if rest:
            self._cache.use_records()
            yield from self._process_records(rest)

    def _process_join(self, join: StreamJoinForm, chunks: Sequence[Chunk]) -> Iterator[None]:
        order, batches = merged_batches(chunks, lambda chunk: _load_side(chunk, join.sides[chunk.topic]))
        first = start_of_batch = self.context.append(order)
        sources = {is_left: self._decoder.sources[topic] for topic, is_left in join.sides.items()}
        for records in batches:
            for start in range(0, records.num_rows, _ROWS_PER_JOIN):
                part = records.slice(start, _ROWS_PER_JOIN)
                is_left = part.column(_IS_LEFT).to_numpy(zero_copy_only=False)
                try:
                    with self._locate_errors(part, first, partial(_source_at, sources, is_left)):
                        join(of_records(part, first), is_left)
                except SerdeError:
                    self._decoder.raise_undecodable(chunks)
                    raise
                first += part.num_rows
                yield
        if first == start_of_batch:
            yield from self._process_records(chunks)
            return
        for chunk in chunks:
            self.context.metrics.add(self._decoder.sources[chunk.topic].name, "records_in", chunk.rows)

    @contextmanager
    def _locate_errors(self, records: pa.RecordBatch, first: int, source_at: Callable[[int], Source]) -> Iterator[None]:
        """Turns a `RowError` of the enclosed code into the error of the record path, which names the input record."""
        try:
            yield
        except RowError as failed:
            row = failed.position - first
            raise uncaught_error(
                failed.cause,
                self.context.task_id,
                self.context.metadata_at(self.context.order, failed.position),
                key=source_at(row).key_serde.deserialize(records.column("key")[row].as_py()),
                timestamp_ms=records.column("timestamp")[row].as_py(),
            ) from failed.cause

    def _forward(self, stretch: Stretch) -> None:
        source, (keys, values, columns, _), start, stop, first = stretch
        context, forward, processors = self.context, source.forward, self.processors
        timestamps, headers = columns.timestamps, columns.headers
        latest_ms = source.latest_ms
        flushes = self._flushed_with_batch is not None and context.topic not in self._flushed_with_batch
        for row in range(start, stop):
            context.position = first + row - start
            if timestamps[row] > latest_ms:
                source.refuse()
                continue
            try:
                record = Record(keys[row], values[row], timestamps[row], headers[row] if headers else ())
                if processors is not None:
                    processors.advance(timestamps[row])
                forward(record)
            except USER_ERRORS as error:
                metadata = context.metadata_at(context.order, context.position)
                raise uncaught_error(
                    error, context.task_id, metadata, key=keys[row], timestamp_ms=timestamps[row]
                ) from error
            if processors is not None:
                processors.punctuate(PunctuationType.STREAM_TIME)
            if flushes:
                self._cache.flush()


def _source_at(sources: Mapping[bool, Source], is_left: npt.NDArray[np.bool_], row: int) -> Source:
    return sources[bool(is_left[row])]


def _load(chunk: Chunk) -> pa.RecordBatch:
    assert chunk.load_batch is not None
    return chunk.load_batch()


def _load_side(chunk: Chunk, is_left: bool) -> pa.RecordBatch:
    return _load(chunk).append_column(_IS_LEFT, pa.repeat(is_left, chunk.rows))
