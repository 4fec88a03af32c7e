"""The one order in which records are processed.

Every record carries the place of the input record it descends from: the highest timestamp its partition had reached
(`time_ms`), the rank of its topic-partition (`source`), its offset. Sorting by these is Kafka Streams' merge by
smallest head timestamp, and stays the same however the input is cut into batches and however often records were
repartitioned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Order(NamedTuple):
    """Columns that place records: equal lengths, one row per record."""

    time_ms: Ints
    source: npt.NDArray[np.int32]
    offset: Ints

    @classmethod
    def of_partition(cls, source: int, first_offset: int, timestamps: Ints, floor_ms: int = -1) -> Order:
        """The order of consecutive records of one topic-partition whose earlier records reached `floor_ms`."""
        rows = len(timestamps)
        return cls(
            np.maximum(np.maximum.accumulate(timestamps), floor_ms) if rows else timestamps,
            np.full(rows, source, np.int32),
            np.arange(first_offset, first_offset + rows, dtype=np.int64),
        )

    def take(self, rows: npt.NDArray[np.intp] | Sequence[int]) -> Order:
        return Order(self.time_ms[rows], self.source[rows], self.offset[rows])


def concatenated(orders: Sequence[Order]) -> Order:
    if len(orders) == 1:
        return orders[0]
    return Order(*(np.concatenate(columns) for columns in zip(*orders, strict=True)))


def sorted_rows(order: Order) -> npt.NDArray[np.intp] | None:
    """The permutation that sorts, `None` if all is sorted already; rows with equal places keep their given order."""
    if _is_sorted(order):
        return None
    return np.lexsort((order.offset, order.source, order.time_ms))


def _is_sorted(order: Order) -> bool:
    decided = np.zeros(max(0, len(order.time_ms) - 1), np.bool_)
    for column in order:
        step = np.diff(column)
        if bool(np.any((step < 0) & ~decided)):
            return False
        decided |= step > 0
    return True
