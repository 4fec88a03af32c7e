"""Input of a task: chunks of records of one topic, loaded just before they are processed."""

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

    `recorded` has the timestamps in the topic, if an extractor replaced them.
    """

    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]
    headers: Sequence[Headers] | None
    recorded: Sequence[int] | None = None


@dataclass(frozen=True)
class Chunk:
    """Consecutive records of one input queue of a task. Their order and timestamps are known before they are loaded.

    `load` reads the records, `load_batch` reads them as Arrow, if set. `origin` distinguishes the writers of one topic,
    each of which has a queue. `handed_over` marks records of an earlier stage that would not leave the task in Kafka
    Streams.
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
    """Rows to be processed one after another: those from `start` to before `stop` of one chunk.

    `chunk` is the index of that chunk in the list that was merged.
    """

    chunk: int
    start: int
    stop: int


def merged(chunks: Sequence[Chunk]) -> tuple[Order, Iterator[RowRange]]:
    """Merges the rows of chunks into the one order.

    Returns the positions of all rows in this order, and ranges of rows. The caller must process the ranges in turn: for
    each of them it loads the chunk, unless it is loaded already, and processes the rows of the range. A chunk may have
    several ranges, and a chunk without rows has none.
    """
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
    """Merges the rows of chunks into the one order, as Arrow batches.

    Returns the positions of all rows in this order, and the batches: one per chunk, or one for all chunks if they
    interleave. The batches end before the first chunk for which `load` returns `None`. If chunks interleave, there is
    no batch if `load` returns `None` for any of them, or if they are too large to sort. The caller must process the
    rows that are in no batch by the record path.
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


def chunks_after(chunks: Sequence[Chunk], rows: int) -> list[Chunk]:
    """The chunks left after skipping the first `rows` rows."""
    ends = accumulate(chunk.rows for chunk in chunks)
    return [chunk for chunk, end in zip(chunks, ends, strict=True) if end > rows]


def _processing_order(chunks: Sequence[Chunk], order: Order) -> npt.NDArray[np.intp] | None:
    """The permutation that sorts rows into the one order, `None` if they are in this order already.

    Records are ordered by the input record they descend from. Among those of one input record, records handed over by
    an earlier stage go first, whatever their timestamps: in Kafka Streams they never leave the task, so it processes
    them before it polls a topic. The others go by the smallest timestamp at the head of a queue, then by chunk.
    """
    queues = {(chunk.topic, chunk.origin): number for number, chunk in enumerate(chunks)}
    if len(queues) == 1:
        return sorted_rows(order)
    queue_of = np.repeat([queues[chunk.topic, chunk.origin] for chunk in chunks], [chunk.rows for chunk in chunks])
    timestamps = np.concatenate(
        [np.full(chunk.rows, -1) if chunk.handed_over else chunk.timestamps for chunk in chunks]
    )
    return sorted_rows((*order, head_times((*order, queue_of), timestamps)))


def _runs(chunk_of: np.ndarray, row_of: np.ndarray) -> Iterator[RowRange]:
    breaks = np.flatnonzero((np.diff(chunk_of) != 0) | (np.diff(row_of) != 1)) + 1
    starts = np.concatenate(([0], breaks))
    lengths = np.diff(np.concatenate((starts, [len(row_of)])))
    for chunk, start, length in zip(chunk_of[starts].tolist(), row_of[starts].tolist(), lengths.tolist(), strict=True):
        yield RowRange(chunk, start, start + length)
