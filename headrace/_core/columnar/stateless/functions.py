"""Functions of keys and values, for a whole batch: called as on the record path, but without records in between."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.caching import Update, flush_error
from headrace._core.columnar.aggregations.fold import AggregationStep
from headrace._core.columnar.batch import Batch
from headrace._core.columnar.caching import batch_of
from headrace._core.columnar.groups import Ints
from headrace._core.columnar.layout import Cursor, Form, Layout, RowError, UndecodableError
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._core.operator import Operator
from headrace._core.operators.functions import FunctionOperator, Take
from headrace._core.operators.topics.sink import Sink
from headrace.errors import SerdeError
from headrace.serdes import Serde
from headrace.serdes.base import TopicPart

_ROWS_PER_SEGMENT = 4_000
_MAX_ROWS = 50_000
_MAX_BYTES = 4 << 20


class _Segment(NamedTuple):
    """Results in columns; `rows` are the rows of the batch that caused them."""

    keys: pa.Array
    values: pa.Array
    times: Ints
    rows: npt.NDArray[np.intp]


class ChainEnd(FunctionOperator):
    """Stands in for an operator that follows functions: collects what they forward as bytes, for its batch form.

    Keys and values are encoded immediately, because user code may change them later. Texts and bytes cannot change:
    they are collected as they are and encoded together. In both cases, a value that cannot be encoded raises an error
    immediately.
    """

    form: Form

    def __init__(self, operator: Operator, layout: Layout, cursor: Cursor) -> None:
        super().__init__(operator.name)
        self.operator = operator
        self.error_kind = operator.error_kind
        self.layout = layout
        key_serde, value_serde = layout.key_serde, layout.value_serde
        self._cursor = cursor
        self._encodes_later = key_serde.plain is not None and value_serde.plain is not None
        self._keys: list[Any] = []
        self._values: list[Any] = []
        self._times: list[int] = []
        self._rows: list[int] = []
        self._bytes = 0
        self._segments: list[_Segment] = []
        self._segment_rows = self._segment_bytes = 0

    def begin(self, batch: Batch) -> None:
        """Prepares for the results of a batch, which get their headers and positions from its records."""
        self._batch = batch

    def bind(self, children: Sequence[Take]) -> Take:  # noqa: ARG002
        add_key, add_value = self._keys.append, self._values.append
        add_time, add_row, rows = self._times.append, self._rows.append, self._rows
        key_serde, value_serde, cursor = self.layout.key_serde, self.layout.value_serde, self._cursor
        key_to_bytes, value_to_bytes = key_serde.serialize, value_serde.serialize
        key_type: Any = key_serde.plain
        value_type: Any = value_serde.plain

        def encode(key: Any, value: Any) -> None:
            part: TopicPart = "key"
            try:
                raw_key = key_to_bytes(key)
                part = "value"
                raw = value_to_bytes(value)
            except SerdeError as error:
                raise self._encoding_error(error, part) from error.__cause__
            add_key(raw_key)
            add_value(raw)
            add_time(cursor.timestamp_ms)
            add_row(cursor.row)
            if raw is not None:
                self._bytes += len(raw)
            if len(rows) >= _ROWS_PER_SEGMENT or self._bytes >= _MAX_BYTES:
                self.seal()

        def collect(key: Any, value: Any) -> None:
            part: TopicPart = "key"
            try:
                # A text that is not ASCII may hold lone surrogates, which UTF-8 refuses: raise for this record now.
                if type(key) is not key_type or not key.isascii():
                    key = key_serde.deserialize(key_to_bytes(key))
                part = "value"
                if type(value) is not value_type or not value.isascii():
                    value = value_serde.deserialize(value_to_bytes(value))
            except SerdeError as error:
                raise self._encoding_error(error, part) from error.__cause__
            add_key(key)
            add_value(value)
            add_time(cursor.timestamp_ms)
            add_row(cursor.row)
            if value is not None:
                self._bytes += len(value)
            if len(rows) >= _ROWS_PER_SEGMENT or self._bytes >= _MAX_BYTES:
                self.seal()

        return collect if self._encodes_later else encode

    def _encoding_error(self, error: SerdeError, part: TopicPart) -> SerdeError:
        operator = self.operator
        return operator.encoding_error(error, part, operator.topic) if isinstance(operator, Sink) else error

    def seal(self) -> None:
        """Turns the results collected so far into columns, and flushes if there are many."""
        if not self._rows:
            return
        if self._encodes_later:
            keys = self.layout.key_serde.serialize_many(self._keys)
            values = self.layout.value_serde.serialize_many(self._values)
        else:
            keys, values = pa.array(self._keys, pa.binary()), pa.array(self._values, pa.binary())
        self._segments.append(_Segment(keys, values, np.array(self._times, np.int64), np.array(self._rows, np.intp)))
        self._segment_rows += len(self._rows)
        self._segment_bytes += values.nbytes
        self._bytes = 0
        for column in (self._keys, self._values, self._times, self._rows):
            column.clear()
        if self._segment_rows >= _MAX_ROWS or self._segment_bytes >= _MAX_BYTES:
            self.flush()

    def flush(self) -> None:
        """Passes the sealed results to the batch form."""
        if not self._segments:
            return
        keys, values, times, rows = zip(*self._segments, strict=True)
        self._segments.clear()
        self._segment_rows = self._segment_bytes = 0
        batch, chosen = self._batch, np.concatenate(rows)
        self.form(
            Batch(
                pa.concat_arrays(keys),
                pa.concat_arrays(values),
                np.concatenate(times),
                None if batch.headers is None else batch.headers.take(pa.array(chosen)),
                batch.positions[chosen],
            )
        )


class FunctionsForm:
    """Decodes a batch and passes each record through all functions before the next, as on the record path.

    Args:
        key_serde: serde of the batch's keys.
        value_serde: serde of the batch's values.
        cursor: points to the current record.
        take: the functions, combined.
        aggregations: the aggregations among them.
        ends: the operators that take the results.
    """

    def __init__(
        self,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        cursor: Cursor,
        take: Take,
        aggregations: Sequence[AggregationStep],
        ends: Sequence[ChainEnd],
    ) -> None:
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._cursor = cursor
        self._take = take
        self._aggregations = aggregations
        self._ends = ends
        self._batch: Batch | None = None
        for aggregation in aggregations:
            if aggregation.cache is not None:
                aggregation.cache.forward_in_columns = partial(self._forward_updates, aggregation)

    def run_undecoded(self, batch: Batch) -> None:
        """Processes a batch of a source, which may have undecodable records.

        Raises:
            UndecodableError: if the batch has such records. Then no record of it has been processed.
        """
        try:
            decoded = self._decode(batch)
        except Exception as error:
            raise UndecodableError from error
        self._run(batch, *decoded)

    def __call__(self, batch: Batch) -> None:
        self._run(batch, *self._decode(batch))

    def _decode(self, batch: Batch) -> tuple[Sequence[Any], Sequence[Any]]:
        keys = self._key_serde.deserialize_many(batch.keys.to_pylist())
        return keys, self._value_serde.deserialize_many(batch.values.to_pylist())

    def _run(self, batch: Batch, keys: Sequence[Any], values: Sequence[Any]) -> None:
        take, cursor = self._take, self._cursor
        for aggregation in self._aggregations:
            aggregation.prefetch(batch, self._key_serde)
        self._begin(batch)
        records = zip(keys, values, batch.timestamps.tolist(), strict=True)
        try:
            for row, (key, value, timestamp_ms) in enumerate(records):
                cursor.row, cursor.timestamp_ms = row, timestamp_ms
                take(key, value)
            for end in self._ends:
                end.seal()
        except RowError:
            raise
        except USER_ERRORS as error:
            raise RowError(error, int(batch.positions[cursor.row])) from error
        self._end()

    def _begin(self, batch: Batch) -> None:
        self._batch = batch
        for aggregation in self._aggregations:
            aggregation.begin(batch)
        for end in self._ends:
            end.begin(batch)

    def _end(self) -> None:
        self._batch = None
        for aggregation in self._aggregations:
            aggregation.end()
        for end in self._ends:
            end.flush()

    def _forward_updates(self, aggregation: AggregationStep, updates: Sequence[Update]) -> None:
        """Forwards updates of an aggregation that leave the record cache.

        They leave at the end of a micro-batch, or when the cache is full: then in the middle of a batch, whose further
        records follow after them.
        """
        cursor, interrupted = self._cursor, self._batch
        row, timestamp_ms = cursor.row, cursor.timestamp_ms
        origins = [one.origins for one in self._aggregations]
        if interrupted is not None:
            self._flush_ends()
        self._begin(batch_of(updates))
        self._run_updates(aggregation, updates)
        if interrupted is None:
            self._end()
            return
        self._batch, cursor.row, cursor.timestamp_ms = interrupted, row, timestamp_ms
        for end in self._ends:
            end.begin(interrupted)
        for one, before in zip(self._aggregations, origins, strict=True):
            one.origins = before

    def _run_updates(self, aggregation: AggregationStep, updates: Sequence[Update]) -> None:
        cursor, cache, forward = self._cursor, aggregation.cache, aggregation.forward_update
        assert cache is not None
        failed: Update | None = None
        try:
            for cursor.row, failed in enumerate(updates):
                cursor.timestamp_ms = failed.timestamp_ms
                forward(failed.key, cache.value_of(failed.value))
            self._flush_ends()
        except USER_ERRORS as error:
            cause: BaseException = error
            if isinstance(error, RowError):
                cause = error.cause
                failed = next(update for update in updates if update.moment.position == error.position)
            assert failed is not None
            cache.context.return_to(failed.moment)
            raise flush_error(cache.context, cause, key=failed.key, timestamp_ms=failed.timestamp_ms) from cause

    def _flush_ends(self) -> None:
        for end in self._ends:
            end.seal()
            end.flush()
