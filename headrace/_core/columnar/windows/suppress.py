"""suppress until windows close, for a whole batch of counts: buffers and emits what the record path does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace._core.columnar.batch import Batch, headers_column, headers_of, longs
from headrace._core.columnar.groups import Groups, Ints
from headrace._core.laws import last_closed_end, later_many
from headrace._core.operators.windows.suppress import TableSuppress
from headrace._core.time.stream_time import KeyTime
from headrace._state.stores.suppress_buffer import StoredRow, SuppressBuffer, row_size
from headrace.model.record import Headers

_START = 8
_FIRST: bytes = longs(np.array([1]))[0].as_py()

_CloseRows = Callable[[list[bytes], Ints], npt.NDArray[np.intp]]


class _FinalCount(NamedTuple):
    """The final result of a window. Fields are in sort order: the row that closes it, then the buffer's order."""

    row: int
    end_ms: int
    key: bytes
    value: bytes
    timestamp_ms: int
    headers: Headers


class WindowCloseForm:
    """Buffers every update of counts in tumbling windows, and emits each window's last count when it closes.

    The count upstream closes a window no later than this operator does, so no update follows a final result. Each
    window therefore needs only its last update in the batch, and the row that closes it. With `last_only`, the count
    upstream is cached: it forwards only some of its updates.
    """

    def __init__(
        self,
        operator: TableSuppress,
        buffer: SuppressBuffer[Any, int],
        size_ms: int,
        forward: Callable[[Batch], None],
        *,
        last_only: bool,
    ) -> None:
        self._operator = operator
        self._buffer = buffer
        self._size_ms = size_ms
        self._last_only = last_only
        self._forward = forward

    def __call__(self, batch: Batch) -> None:
        if not len(batch.keys):
            return
        close_rows, due = self._clock(batch)
        encoded = batch.keys.dictionary_encode()
        keys: list[bytes] = encoded.dictionary.to_pylist()
        last = Groups(encoded.indices.to_numpy(), len(keys)).last(np.arange(len(batch.keys)))
        present = self._buffer.rows_of(keys)
        updated = self._updated(batch, keys, last, present)
        closing = close_rows(keys, _ends(updated)).tolist()
        states = list(zip(keys, updated, present, closing, strict=True))
        beyond = len(batch.keys)
        finals = [_final(key, row, at) for key, row, _, at in states if at < beyond]
        finals += self._closed_without_update(due, set(keys), close_rows)
        self._buffer.remove_many((key, before) for key, _, before, at in states if at < beyond and before is not None)
        self._buffer.put_many((key, row, before) for key, row, before, at in states if at == beyond)
        if finals:
            self._forward(_as_batch(sorted(finals), batch))

    def _updated(self, batch: Batch, keys: list[bytes], last: Ints, present: list[StoredRow | None]) -> list[StoredRow]:
        """The buffered row of each window after its last update in the batch."""
        topic = self._operator.context.topic
        values = batch.values.take(pa.array(last)).to_pylist()
        starts = np.frombuffer(b"".join(key[-_START:] for key in keys), ">i8").astype(np.int64)
        ends, timestamps = later_many(starts, self._size_ms).tolist(), batch.timestamps[last].tolist()
        rows = []
        columns = zip(keys, ends, values, timestamps, headers_of(batch, last), present, strict=True)
        for key, end_ms, value, timestamp_ms, headers, before in columns:
            prior = None if before is None else before.prior
            is_first = before is None if self._last_only else value == _FIRST
            replaced = None if is_first else value  # stands in for the previous count, which has the same length
            size = row_size(key, prior, replaced, value, topic, headers)
            rows.append(StoredRow(end_ms, size, timestamp_ms, prior, value, headers))
        return rows

    def _closed_without_update(
        self, due: list[bytes], updated: set[bytes], close_rows: _CloseRows
    ) -> list[_FinalCount]:
        keys = [key for key in due if key not in updated]
        rows = [row for row in self._buffer.rows_of(keys) if row is not None]
        closing = close_rows(keys, _ends(rows)).tolist()
        self._buffer.remove_many(zip(keys, rows, strict=True))
        return [_final(key, row, at) for key, row, at in zip(keys, rows, closing, strict=True)]

    def _clock(self, batch: Batch) -> tuple[_CloseRows, list[bytes]]:
        """Advances stream time. Returns a function that maps windows to the rows that close them, and the due keys."""
        time, wait_ms = self._operator.time, self._operator.settings.wait_ms
        inner = pc.binary_slice(batch.keys, 0, -_START)
        if isinstance(time, KeyTime):
            return self._clock_by_key(time, inner, batch.timestamps, wait_ms)
        times, _ = time.advance_many(inner, batch.timestamps)
        due = self._buffer.due(last_closed_end(int(times[-1]), wait_ms))
        return lambda _, ends: np.searchsorted(last_closed_end(times, wait_ms), ends), due

    def _clock_by_key(
        self, time: KeyTime, inner: pa.Array, timestamps: Ints, wait_ms: int
    ) -> tuple[_CloseRows, list[bytes]]:
        encoded = inner.dictionary_encode()
        distinct: list[bytes] = encoded.dictionary.to_pylist()
        numbers = {key: number for number, key in enumerate(distinct)}
        rows = Groups(encoded.indices.to_numpy(), len(distinct))
        before = time.current_many(distinct)
        times, _ = time.advance_many(inner, timestamps)
        after = rows.last(times)

        def close_rows(keys: list[bytes], ends: Ints) -> npt.NDArray[np.intp]:
            owners = np.fromiter((numbers[key[:-_START]] for key in keys), np.int32, len(keys))
            return rows.first_reaching(last_closed_end(times, wait_ms), owners, ends)

        # Only keys whose stream time passed the end of a window can have a buffered row that is due.
        closed, closed_before = (last_closed_end(times, wait_ms) // self._size_ms for times in (after, before))
        passed = (before >= 0) & (closed > closed_before)
        due = [
            key
            for number in np.flatnonzero(passed).tolist()
            for key in self._buffer.due(last_closed_end(int(after[number]), wait_ms), distinct[number])
        ]
        return close_rows, due


def _ends(rows: list[StoredRow]) -> Ints:
    return np.array([row.buffer_time_ms for row in rows], np.int64)


def _final(key: bytes, row: StoredRow, at: int) -> _FinalCount:
    assert row.new is not None
    return _FinalCount(at, row.buffer_time_ms, key, row.new, row.timestamp_ms, row.headers)


def _as_batch(finals: list[_FinalCount], batch: Batch) -> Batch:
    rows, _, keys, values, timestamps, headers = zip(*finals, strict=True)
    return Batch(
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        np.array(timestamps, np.int64),
        headers_column(headers),
        batch.positions[np.array(rows, np.intp)],
    )
