"""Finds the matches of all records of a batch at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headrace._core.columnar.groups import Ints


class Candidates(NamedTuple):
    """Records of one side of a join that may match records of the other, in three arrays with one entry per record.

    `keys` has the number of the record's key within the batch, `times` its timestamp. `arrivals` has its row in the
    batch, or a negative number if it was stored before. Of two stored records of a key with the same timestamp, the one
    that arrived earlier has the lower number.
    """

    keys: Ints
    times: Ints
    arrivals: Ints


class Seekers(NamedTuple):
    """Records of the batch that look for matches among the candidates of the other side, by ascending row.

    `keys` has the number of the record's key. The timestamps of matches are from `from_ms` to `to_ms`, both inclusive.
    """

    rows: Ints
    keys: Ints
    from_ms: Ints
    to_ms: Ints


class Pairs(NamedTuple):
    """Rows of seekers, ascending, and the indices of their matches in the candidates, by timestamp, then arrival."""

    rows: Ints
    candidates: Ints


class MatchFinder:
    """Finds all pairs of a seeker and a candidate that arrived before it.

    Candidates are sorted by key and timestamp. The matches of a seeker are then consecutive, except that candidates
    which arrived after it are left out. Pairs are computed for a few rows at a time, because all pairs of a batch may
    be too many for memory.
    """

    def __init__(self, candidates: Candidates, seekers: Seekers) -> None:
        self._order = np.lexsort((candidates.arrivals, candidates.times, candidates.keys))
        self._arrivals = candidates.arrivals[self._order]
        self._rows = seekers.rows
        levels, ranks = np.unique(candidates.times, return_inverse=True)
        span = len(levels) + 1
        ordered = (candidates.keys * span + ranks)[self._order]
        self._first = np.searchsorted(ordered, seekers.keys * span + np.searchsorted(levels, seekers.from_ms))
        end = np.searchsorted(ordered, seekers.keys * span + np.searchsorted(levels, seekers.to_ms, "right"))
        self._counts: npt.NDArray[np.intp] = np.maximum(end - self._first, 0)

    def max_matches(self, rows: int) -> npt.NDArray[np.intp]:
        """An upper bound of the number of matches of each row of the batch, which has `rows` rows."""
        counts = np.zeros(rows, np.intp)
        counts[self._rows] = self._counts
        return counts

    def of_rows(self, start: int, stop: int) -> Pairs:
        """The pairs of the rows from `start` to before `stop`."""
        first, end = np.searchsorted(self._rows, (start, stop))
        counts = self._counts[first:end]
        rows = np.repeat(self._rows[first:end], counts)
        skipped = np.repeat(np.cumsum(counts) - counts, counts)
        indices = np.repeat(self._first[first:end], counts) + np.arange(len(rows)) - skipped
        before = self._arrivals[indices] < rows
        return Pairs(rows[before], self._order[indices[before]])
