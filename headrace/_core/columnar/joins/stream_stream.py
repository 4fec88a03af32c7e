"""Stream-stream joins for a whole batch of both sides: finds matches and stores records at once, joins one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace._core.columnar.batch import Batch
from headrace._core.columnar.joins.kept_records import SideRecords
from headrace._core.columnar.joins.rows import ROWS_AT_ONCE, Bools, JoinRows, StreamSide
from headrace._core.operators.joins.stream_stream_left_outer import StreamOuterJoin
from headrace.serdes import Serde

_MAX_PAIRS = 10_000


class StreamJoinForm:
    """The batch form of both sides of a join in which all keys share one stream time. Forwards results one by one.

    `sides` says for each topic whether its records are those of the left side.
    """

    def __init__(self, left: StreamSide, right: StreamSide, key_serde: Serde[Any], sides: Mapping[str, bool]) -> None:
        self.sides = sides
        self._left = left
        self._right = right
        self._key_serde = key_serde

    def __call__(self, batch: Batch, is_left: Bools) -> None:
        left, right = self._left, self._right
        rows = JoinRows(batch, is_left, left, right, self._key_serde)
        lefts, rights = rows.joinable & is_left, rows.joinable & ~is_left
        left_records = SideRecords(left, rows, lefts, rights, right.operator)
        right_records = SideRecords(right, rows, rights, lefts, left.operator)
        is_outer = isinstance(left.operator, StreamOuterJoin)
        for start, stop in _ranges(left_records.max_matches() + right_records.max_matches()):
            matches = left_records.matches(start, stop) | right_records.matches(start, stop)
            # In an inner join, nothing happens to a record without a match.
            rows.join(range(start, stop) if is_outer else sorted(matches), matches)
        if not is_outer:
            rows.skip_others()
        left_records.store()
        right_records.store()


def _ranges(counts: npt.NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Splits rows into ranges, `start` to before `stop`, of at least one row and with a bounded sum of counts."""
    sums = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = int(sums[start - 1]) if start else 0
        bounded = int(np.searchsorted(sums, before + _MAX_PAIRS, "right"))
        stop = min(max(bounded, start + 1), start + ROWS_AT_ONCE, len(counts))
        yield start, stop
        start = stop
