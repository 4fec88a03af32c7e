"""Batches of bounded size: small ones joined, large ones cut, so that memory and the cost per batch stay small."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

MAX_ROWS = 100_000
MAX_BYTES = 4 << 20


def bounded_rows(rows: int, size: int) -> int:
    """How many of these rows, that take `size` bytes together, fit into one batch."""
    return max(1, min(MAX_ROWS, MAX_BYTES * rows // size if size else MAX_ROWS))


def concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of one or more batches as one batch."""
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches).combine_chunks()
    return pa.RecordBatch.from_arrays([column.chunk(0) for column in table.columns], schema=table.schema)


def unshared(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows, copied if they would keep a much larger batch in memory that they are a slice of."""
    if batch.get_total_buffer_size() <= 2 * batch.nbytes:
        return batch
    return batch.take(pa.array(np.arange(batch.num_rows)))


def coalesced(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, with neighbours joined for as long as they fit into one batch."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if waiting and (rows + batch.num_rows > MAX_ROWS or size + batch.nbytes > MAX_BYTES):
            yield concatenated(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    if waiting:
        yield concatenated(waiting)
