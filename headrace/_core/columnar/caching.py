"""The record cache for whole batches: updates stay in columns until the cache is flushed.

It forwards the same updates as on the record path, in the same order, and is flushed after the same records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.caching import ENTRY_SIZE, StoreCache, Update, flush_error, headers_size
from headrace._core.columnar.batch import Batch, headers_column, headers_of
from headrace._core.columnar.groups import Groups
from headrace._core.columnar.layout import RowError
from headrace._core.task.context import Moment
from headrace._state.stores.key_value import TIMESTAMP_SIZE
from headrace.serdes import Serde

_VALUE_SIZE = 8


class Span(NamedTuple):
    """Rows from `start` to before `stop` of a batch. If `full`, the cache exceeds its bytes after the last of them."""

    start: int
    stop: int
    full: bool


class CachedCounts:
    """The cached updates of a store of counts, in columns, with keys and values in bytes.

    Args:
        cache: the cache of the store.
        key_serde: the serde of the keys that are forwarded.
        forward: gets the last update of every row as a batch when the cache is flushed.
    """

    def __init__(self, cache: StoreCache, key_serde: Serde[Any], forward: Callable[[Batch], None]) -> None:
        self._cache = cache
        self._key_serde = key_serde
        self._forward = forward
        self._batches: list[Batch] = []
        self._sizes: dict[bytes, int] = {}
        self._before: dict[bytes, bytes | None] = {}

    def spans(self, rows: Sequence[bytes], numbers: npt.NDArray[np.int32], batch: Batch) -> Iterator[Span]:
        """Splits a batch where the record path flushes the cache. The caller adds each span, and flushes if it is full.

        `rows` identifies the distinct rows that the batch updates. `numbers` has the index of each record's row.
        """
        count = len(numbers)
        headers = None if batch.headers is None else headers_of(batch, np.arange(count))
        header_sizes = None if headers is None else [headers_size(one) for one in headers]
        sizes = self._sizes
        added = sum(self._size(row) for row in rows if row not in sizes) + sum(header_sizes or ())
        if self._cache.bytes + added > self._cache.max_bytes:
            yield from self._spans_one_by_one(rows, numbers.tolist(), header_sizes or [0] * count)
            return
        last = Groups(numbers, len(rows)).last(np.arange(count)).tolist() if header_sizes else ()
        for number, row in enumerate(rows):
            size = self._size(row) + (header_sizes[last[number]] if header_sizes else 0)
            self._cache.bytes += size - sizes.get(row, 0)
            sizes[row] = size
        yield Span(0, count, full=False)

    def add(
        self, rows: Sequence[bytes], before: Sequence[bytes | None], last: npt.NDArray[np.int64], batch: Batch
    ) -> None:
        """Caches the last update of each row of a span.

        Args:
            rows: the rows of the store that the span updates.
            before: the stored values of these rows before the span; `None` for a new row.
            last: for each of these rows, the index of the record of the span that updates it last.
            batch: the updates of the span.
        """
        if self._cache.send_old_values:
            for row, stored in zip(rows, before, strict=True):
                self._before.setdefault(row, stored)
        self._batches.append(batch.take(np.sort(last)))

    def flush(self) -> None:
        if not self._batches:
            return
        batch = self._last_updates()
        self._clear()
        try:
            self._forward(batch)
        except RowError as failed:
            row = int(np.flatnonzero(batch.positions == failed.position)[0])
            self._cache.context.return_to(self._moment(failed.position))
            key = self._key_serde.deserialize(batch.keys[row].as_py())
            raise flush_error(
                self._cache.context, failed.cause, key=key, timestamp_ms=int(batch.timestamps[row])
            ) from failed.cause

    def move_to(self, cache: StoreCache) -> None:
        if not self._batches:
            return
        batch, before = self._last_updates(), self._before
        self._clear()
        columns = zip(
            batch.keys.to_pylist(),
            batch.values.to_pylist(),
            batch.timestamps.tolist(),
            headers_of(batch, np.arange(len(batch.keys))),
            batch.positions.tolist(),
            strict=True,
        )
        for row, value, timestamp_ms, headers, position in columns:
            stored = before.get(row)
            old = None if stored is None else cache.value_of(stored[TIMESTAMP_SIZE:])
            cache.put_update(
                row, self._key_serde.deserialize(row), value, old, timestamp_ms, headers, self._moment(position)
            )

    def _spans_one_by_one(
        self, rows: Sequence[bytes], numbers: Sequence[int], header_sizes: Sequence[int]
    ) -> Iterator[Span]:
        cache, start = self._cache, 0
        for at, number in enumerate(numbers):
            row = rows[number]
            size = self._size(row) + header_sizes[at]
            cache.bytes += size - self._sizes.get(row, 0)
            self._sizes[row] = size
            if cache.bytes > cache.max_bytes:
                yield Span(start, at + 1, full=True)
                start = at + 1
        if start < len(numbers):
            yield Span(start, len(numbers), full=False)

    def _last_updates(self) -> Batch:
        """The last update of each row, in the order of the last updates."""
        if len(self._batches) == 1:
            return self._batches[0]
        every = concatenate(self._batches)
        encoded = every.keys.dictionary_encode()
        last = Groups(encoded.indices.to_numpy(), len(encoded.dictionary)).last(np.arange(len(every.keys)))
        return every.take(np.sort(last))

    def _clear(self) -> None:
        self._batches, self._sizes, self._before = [], {}, {}
        self._cache.bytes = 0

    def _moment(self, position: int) -> Moment:
        return Moment(position, None, self._cache.context.topic, None, 0)

    @staticmethod
    def _size(row: bytes) -> int:
        return ENTRY_SIZE + len(row) + _VALUE_SIZE


def batch_of(updates: Sequence[Update]) -> Batch:
    """Returns cached updates as a batch. Its keys and values are null, because functions get those one by one."""
    return Batch(
        pa.nulls(len(updates), pa.binary()),
        pa.nulls(len(updates), pa.binary()),
        np.array([update.timestamp_ms for update in updates], np.int64),
        headers_column([update.headers for update in updates]),
        np.array([update.moment.position for update in updates], np.intp),
    )


def concatenate(batches: Sequence[Batch]) -> Batch:
    """The records of several batches, one batch after the other."""
    keys, values, timestamps, headers, positions = zip(*batches, strict=True)
    with_headers = [
        pa.nulls(len(column), _headers_type(headers)) if one is None else one
        for column, one in zip(keys, headers, strict=True)
    ]
    return Batch(
        pa.concat_arrays(keys),
        pa.concat_arrays(values),
        np.concatenate(timestamps),
        None if all(one is None for one in headers) else pa.concat_arrays(with_headers),
        np.concatenate(positions),
    )


def _headers_type(headers: Sequence[pa.Array | None]) -> pa.DataType:
    return next((one.type for one in headers if one is not None), pa.null())
