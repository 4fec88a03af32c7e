"""Input of a task: chunks of records of one topic, loaded when their turn comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.task.order import Ints, Order, concatenated, head_times, sorted_rows
from headrace.model.record import Headers

_SORTED_BYTES = 1 << 30


class RecordColumns(NamedTuple):
    """Undecoded records, column by column; `headers` is `None` when no record has any.

    `recorded` are the timestamps in the topic, where an extractor has put others in their place.
    """

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]
    headers: Sequence[Headers] | None
    recorded: Sequence[int] | None = None


@dataclass(frozen=True)
class Chunk:
    """Consecutive records on one way into a task; order and timestamps are known before they are loaded.

    `load` reads them, `load_batch` as Arrow. `origin` tells apart who wrote to the same topic. What is `handed_over` by
    an earlier stage would not leave the task in Kafka Streams.
    """

    topic: str
    order: Order
    timestamps: Ints
    load: Callable[[], RecordColumns]
    load_batch: Callable[[], pa.RecordBatch] | None = None
    origin: tuple[int, int] = (0, 0)
    handed_over: bool = False

    @property
    def rows(self) -> int:
        return len(self.order.time_ms)


class RowRange(NamedTuple):
    """Rows `start` to `stop` of one chunk, to be processed one after another."""

    chunk: int
    start: int
    stop: int


def merged(chunks: Sequence[Chunk]) -> tuple[Order, Iterator[RowRange]]:
    """All rows of the chunks in processing order."""
    order = concatenated([chunk.order for chunk in chunks])
    rows = _processing_order(chunks, order)
    if rows is None:
        return order, (RowRange(index, 0, chunk.rows) for index, chunk in enumerate(chunks) if chunk.rows)
    sizes = [chunk.rows for chunk in chunks]
    chunk_of = np.repeat(np.arange(len(chunks)), sizes)
    row_of = np.concatenate([np.arange(size) for size in sizes])
    return order.take(rows), _runs(chunk_of[rows], row_of[rows])


def merged_batches(
    chunks: Sequence[Chunk], load: Callable[[Chunk], pa.RecordBatch | None]
) -> tuple[Order, Iterator[pa.RecordBatch]]:
    """The same as Arrow batches: chunk by chunk where they follow each other, else all of them sorted.

    Batches end before the first chunk of which `load` gives none; if all must be sorted, there are then none at all,
    nor if they are more than Arrow can sort.
    """
    order = concatenated([chunk.order for chunk in chunks])
    rows = _processing_order(chunks, order)
    loaded = takewhile(lambda batch: batch is not None, map(load, chunks))
    if rows is None:
        return order, loaded
    tables = [pa.Table.from_batches([batch]) for batch in loaded]
    if len(tables) < len(chunks) or sum(table.nbytes for table in tables) > _SORTED_BYTES:
        return order, iter(())
    table = pa.concat_tables(tables, promote_options="default")
    return order.take(rows), iter(table.take(pa.array(rows)).combine_chunks().to_batches())


def after(chunks: Sequence[Chunk], rows: int) -> list[Chunk]:
    """The chunks behind those that have the first so many rows."""
    ends = accumulate(chunk.rows for chunk in chunks)
    return [chunk for chunk, end in zip(chunks, ends, strict=True) if end > rows]


def _processing_order(chunks: Sequence[Chunk], order: Order) -> npt.NDArray[np.intp] | None:
    """The permutation that puts rows into processing order, `None` if they are in it.

    Of records that descend from the same input record, those handed over go first, whatever their timestamps: Kafka
    Streams takes them before anything it reads from a topic. Others that come different ways go by smallest head
    timestamp, as the queues of its tasks do; then in the order of their chunks.
    """
    ways = {(chunk.topic, chunk.origin): number for number, chunk in enumerate(chunks)}
    if len(ways) == 1:
        return sorted_rows(order)
    way_of = np.repeat([ways[chunk.topic, chunk.origin] for chunk in chunks], [chunk.rows for chunk in chunks])
    timestamps = np.concatenate(
        [np.full(chunk.rows, -1) if chunk.handed_over else chunk.timestamps for chunk in chunks]
    )
    return sorted_rows((*order, head_times((*order, way_of), timestamps)))


def _runs(chunk_of: np.ndarray, row_of: np.ndarray) -> Iterator[RowRange]:
    breaks = np.flatnonzero((np.diff(chunk_of) != 0) | (np.diff(row_of) != 1)) + 1
    starts = np.concatenate(([0], breaks))
    lengths = np.diff(np.concatenate((starts, [len(row_of)])))
    for chunk, start, length in zip(chunk_of[starts].tolist(), row_of[starts].tolist(), lengths.tolist(), strict=True):
        yield RowRange(chunk, start, start + length)
