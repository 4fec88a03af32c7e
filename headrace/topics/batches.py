"""Batches of bounded size: small ones are joined and large ones split, which bounds memory and the cost per batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

MAX_ROWS = 100_000
MAX_BYTES = 4 << 20


def max_batch_rows(rows: int, size: int) -> int:
    """How many rows fit into one batch, judging by `rows` rows that take `size` bytes together."""
    return max(1, min(MAX_ROWS, MAX_BYTES * rows // size if size else MAX_ROWS))


def concatenate(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of one or more batches as one batch."""
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches).combine_chunks()
    return pa.RecordBatch.from_arrays([column.chunk(0) for column in table.columns], schema=table.schema)


def copy_if_shared(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Copies the rows if they are a slice of a much larger batch, which they would otherwise hold in memory."""
    if batch.get_total_buffer_size() <= 2 * batch.nbytes:
        return batch
    return batch.take(pa.array(np.arange(batch.num_rows)))


def coalesce(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Joins neighbouring batches as long as they fit into one."""
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if pending and (rows + batch.num_rows > MAX_ROWS or size + batch.nbytes > MAX_BYTES):
            yield concatenate(pending)
            pending, rows, size = [], 0, 0
        pending.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    if pending:
        yield concatenate(pending)
