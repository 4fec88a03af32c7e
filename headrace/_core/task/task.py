"""A task: the operators of one sub-topology for one partition, run over its records in their one order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.columnar.batch import of_records
from headrace._core.columnar.compile import SourceForm
from headrace._core.columnar.joins.stream_stream import StreamJoinForm
from headrace._core.columnar.layout import RowError, UndecodableError
from headrace._core.errors.failure import idle_error, processing_error
from headrace._core.errors.handlers import stopping
from headrace._core.operator import Operator
from headrace._core.operators.processors.lifecycle import Processors
from headrace._core.operators.topics.source import Source
from headrace._core.task.chunk import Chunk, after, merged_batches
from headrace._core.task.context import TaskContext
from headrace._core.task.decoding import Decoder, Stretch
from headrace._core.task.global_tables import GlobalTables
from headrace._core.task.order import Order
from headrace.errors import SerdeError
from headrace.model.processor import PunctuationType
from headrace.model.record import Record

_HAND_OUT_ROWS = 20_000
_JOINED_ROWS = 200_000
_IS_LEFT = "is left"


class Task:
    """Runs batches of chunks through the operators.

    Args:
        context: what the operators share.
        operators: all operators of the sub-topology, connected.
        decoder: knows the source of each topic of which the task has a partition.
        forms: the batch form of what follows a topic's source, where there is one.
        tables: takes in the topics that the task has whole.
        joins: the batch form of the join that a topic's source is a side of, where there is one.
        processors: those of the user's among the operators, if there are any.
    """

    def __init__(
        self,
        context: TaskContext,
        operators: Sequence[Operator],
        decoder: Decoder,
        forms: Mapping[str, SourceForm],
        tables: GlobalTables,
        joins: Mapping[str, StreamJoinForm],
        processors: Callable[[], Processors] | None = None,
    ) -> None:
        self.context = context
        self._decoder = decoder
        self._forms = forms
        self._tables = tables
        self._joins = joins
        self._operators = operators
        for operator in operators:
            operator.init(context)
        self.processors = processors() if processors is not None else None

    def process(self, chunks: Sequence[Chunk]) -> Iterator[None]:
        """Processes all records of a batch; stops now and then, for what was written so far to be taken away.

        Global tables take in theirs first, so that the others meet all of them. The order of the records is then in
        the context, where `position` counts through it.
        """
        self.context.order = Order.of_nothing()
        with stopping():
            arrived = self._tables.apply([chunk for chunk in chunks if chunk.rows])
            timed = [self._decoder.with_extracted_times(chunk) for chunk in arrived]
            if not timed:
                return
            yield from self._process(timed)
            if self.processors is not None:
                self.processors.save()

    def punctuate(self) -> None:
        """Runs what is due by the wall clock, then closes idle keys. What was written before must have been taken away.

        What a punctuation forwards of a key counts as seen.
        """
        self.context.order, self.context.position = Order.of_clock(self.context.system_time_ms), 0
        with stopping():
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
        context.fired_ms = context.system_time_ms
        try:
            operator.close_idle()
        except Exception as error:
            raise idle_error(error, context.task_id, operator.name, context.system_time_ms) from error
        finally:
            context.fired_ms = None

    def _process(self, chunks: Sequence[Chunk]) -> Iterator[None]:
        form = self._form_for(chunks)
        if form is not None:
            yield from self._process_columns(form, chunks)
            return
        join = self._join_for(chunks)
        if join is not None:
            yield from self._process_join(join, chunks)
            return
        yield from self._process_records(chunks)

    def _process_records(self, chunks: Sequence[Chunk]) -> Iterator[None]:
        handed_out = 0
        for stretch in self._decoder.in_order(chunks):
            self._forward(stretch)
            done = stretch.first + stretch.stop - stretch.start
            if done - handed_out >= _HAND_OUT_ROWS:
                handed_out = done
                yield

    def _form_for(self, chunks: Sequence[Chunk]) -> SourceForm | None:
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
            chunk.topic in self._decoder.extractors
            or chunk.load_batch is None
            or chunk.timestamps.max() > self._decoder.sources[chunk.topic].latest_ms
            or chunk.timestamps.min() < 0
            for chunk in chunks
        )

    def _process_columns(self, form: SourceForm, chunks: Sequence[Chunk]) -> Iterator[None]:
        self.context.topic = chunks[0].topic
        source = self._decoder.sources[self.context.topic]
        order, batches = merged_batches(chunks, _loaded if form.decodes else self._decoder.valid_batch)
        first = begun = self.context.append(order)
        for records in batches:
            try:
                with self._told(records, first, lambda _: source):
                    form.run(of_records(records, first))
            except UndecodableError:
                break
            self.context.metrics.add(source.name, "records_in", records.num_rows)
            first += records.num_rows
            yield
        rest = after(chunks, first - begun)
        if rest:
            yield from self._process_records(rest)

    def _process_join(self, join: StreamJoinForm, chunks: Sequence[Chunk]) -> Iterator[None]:
        order, batches = merged_batches(chunks, lambda chunk: _sided(chunk, join.sides[chunk.topic]))
        first = begun = self.context.append(order)
        sources = {is_left: self._decoder.sources[topic] for topic, is_left in join.sides.items()}
        for records in batches:
            for start in range(0, records.num_rows, _JOINED_ROWS):
                part = records.slice(start, _JOINED_ROWS)
                is_left = part.column(_IS_LEFT).to_numpy(zero_copy_only=False)
                try:
                    with self._told(part, first, partial(_source_of, sources, is_left)):
                        join(of_records(part, first), is_left)
                except SerdeError:
                    for _ in self._decoder.in_order(chunks):
                        """Tells which record it is."""
                    raise
                first += part.num_rows
                yield
        if first == begun:
            yield from self._process_records(chunks)
            return
        for chunk in chunks:
            self.context.metrics.add(self._decoder.sources[chunk.topic].name, "records_in", chunk.rows)

    @contextmanager
    def _told(self, records: pa.RecordBatch, first: int, source_of: Callable[[int], Source]) -> Iterator[None]:
        """Tells of a failing record of a batch what the record path tells: its key and timestamp as it came."""
        try:
            yield
        except RowError as failed:
            row = failed.position - first
            raise processing_error(
                failed.cause,
                self.context.task_id,
                self.context.metadata_at(self.context.order, failed.position),
                key=source_of(row).key_serde.deserialize(records.column("key")[row].as_py()),
                timestamp_ms=records.column("timestamp")[row].as_py(),
            ) from failed.cause

    def _forward(self, stretch: Stretch) -> None:
        source, (keys, values, columns, _), start, stop, first = stretch
        context, forward, processors = self.context, source.forward, self.processors
        timestamps, headers = columns.timestamps, columns.headers
        latest_ms = source.latest_ms
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
            except Exception as error:
                metadata = context.metadata_at(context.order, context.position)
                raise processing_error(
                    error, context.task_id, metadata, key=keys[row], timestamp_ms=timestamps[row]
                ) from error
            if processors is not None:
                processors.punctuate(PunctuationType.STREAM_TIME)


def _source_of(sources: Mapping[bool, Source], is_left: npt.NDArray[np.bool_], row: int) -> Source:
    return sources[bool(is_left[row])]


def _loaded(chunk: Chunk) -> pa.RecordBatch:
    assert chunk.load_batch is not None
    return chunk.load_batch()


def _sided(chunk: Chunk, is_left: bool) -> pa.RecordBatch:
    return _loaded(chunk).append_column(_IS_LEFT, pa.repeat(is_left, chunk.rows))
