"""The order in which records are processed.

Every record carries the position of the input record it descends from: the highest timestamp of its partition up to it
(`time_ms`), the rank of its topic-partition (`source`), its offset. Sorting by these equals Kafka Streams' choice of
the partition with the smallest timestamp at its head. The order does not depend on how the input is cut into batches
or how often records were repartitioned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.model.time.end_of_time import END_OF_TIME_MS

Ints = npt.NDArray[np.int64]

CLOCK = np.iinfo(np.int32).max  # the source of records that no input record caused


class Order(NamedTuple):
    """The positions of records, in columns of equal length with one row per record."""

    time_ms: Ints
    source: npt.NDArray[np.int32]
    offset: Ints

    @classmethod
    def of_partition(
        cls, source: int, offsets: int | Ints, timestamps: Ints, floor_ms: int = -1, latest_ms: int | None = None
    ) -> Order:
        """The order of consecutive records of one topic-partition; `floor_ms` is the highest timestamp before them.

        `offsets` is the offset of the first record if there are no gaps, else the offsets of all. The source rejects
        records with a timestamp after `latest_ms`: they stay behind the records before them, but do not advance time.
        """
        rows = len(timestamps)
        if latest_ms is not None:
            timestamps = np.where(timestamps > latest_ms, -1, timestamps)
        return cls(
            np.maximum(np.maximum.accumulate(timestamps), floor_ms) if rows else timestamps,
            np.full(rows, source, np.int32),
            np.arange(offsets, offsets + rows, dtype=np.int64) if isinstance(offsets, int) else offsets,
        )

    @classmethod
    def of_nothing(cls) -> Order:
        return cls(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))

    @classmethod
    def of_clock(cls, clock_ms: int) -> Order:
        """One row for records that the wall clock causes: they come after all others."""
        return cls(np.array([END_OF_TIME_MS]), np.array([CLOCK], np.int32), np.array([clock_ms]))

    def take(self, rows: npt.NDArray[np.intp] | Sequence[int]) -> Order:
        return Order(self.time_ms[rows], self.source[rows], self.offset[rows])


def concatenated(orders: Sequence[Order]) -> Order:
    if len(orders) == 1:
        return orders[0]
    return Order(*(np.concatenate(columns) for columns in zip(*orders, strict=True)))


def sorted_rows(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.intp] | None:
    """The permutation that sorts rows by columns, `None` if they are sorted already; the sort is stable."""
    if _is_sorted(columns):
        return None
    return np.lexsort(tuple(reversed(columns)))


def head_times(queues: Sequence[npt.NDArray[Any]], timestamps: Ints) -> Ints:
    """Returns a timestamp for each row: sorting rows by it merges queues by the smallest timestamp at their heads.

    A row behind a higher timestamp cannot overtake it, so each row gets the highest timestamp of its queue so far.
    Adjacent rows that are equal in all columns of `queues` are in one queue.
    """
    follows = np.ones(max(0, len(timestamps) - 1), np.bool_)
    for column in queues:
        follows &= column[1:] == column[:-1]
    if not bool(np.any(follows & (timestamps[1:] < timestamps[:-1]))):
        return timestamps
    heads = timestamps.copy()
    for row in np.flatnonzero(follows) + 1:
        heads[row] = max(heads[row], heads[row - 1])
    return heads


def _is_sorted(columns: Sequence[npt.NDArray[Any]]) -> bool:
    decided = np.zeros(max(0, len(columns[0]) - 1), np.bool_)
    for column in columns:
        step = np.diff(column)
        if bool(np.any((step < 0) & ~decided)):
            return False
        decided |= step > 0
    return True
