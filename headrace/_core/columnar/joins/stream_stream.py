"""Joins of streams for a whole batch of both sides: partners are found and records kept all at once, met one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace._core.columnar.batch import Batch
from headrace._core.columnar.joins.kept_records import KeptRecords
from headrace._core.columnar.joins.rows import FEW, Bools, JoinRows, StreamSide
from headrace._core.operators.joins.stream_stream_outer import StreamOuterJoin
from headrace.serdes import Serde

_PAIRS = 10_000


class StreamJoinForm:
    """Both sides of a join where all keys share one clock. What follows it gets its results record by record.

    `sides` tells of each topic whether its records are of the left side.
    """

    def __init__(self, left: StreamSide, right: StreamSide, key_serde: Serde[Any], sides: Mapping[str, bool]) -> None:
        self.sides = sides
        self._left = left
        self._right = right
        self._key_serde = key_serde

    def __call__(self, batch: Batch, is_left: Bools) -> None:
        left, right = self._left, self._right
        rows = JoinRows(batch, is_left, left, right, self._key_serde)
        lefts, rights = rows.present & is_left, rows.present & ~is_left
        kept_left = KeptRecords(left, rows, lefts, rights, right.operator)
        kept_right = KeptRecords(right, rows, rights, lefts, left.operator)
        waits = isinstance(left.operator, StreamOuterJoin)
        for start, stop in _parts(kept_left.most_by_row() + kept_right.most_by_row()):
            met = kept_left.met(start, stop) | kept_right.met(start, stop)
            # Where none waits, nothing happens to a record that meets none.
            rows.meet(range(start, stop) if waits else sorted(met), met)
        if not waits:
            rows.pass_by()
        kept_left.keep()
        kept_right.keep()


def _parts(counts: npt.NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Bounds of parts of some rows with a bounded sum, of one row at least."""
    reached = np.cumsum(counts)
    start = 0
    while start < len(counts):
        done = int(reached[start - 1]) if start else 0
        bounded = int(np.searchsorted(reached, done + _PAIRS, "right"))
        stop = min(max(bounded, start + 1), start + FEW, len(counts))
        yield start, stop
        start = stop
