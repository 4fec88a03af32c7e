"""Which records of a batch meet which of the other side, for all of them at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headrace._core.columnar.groups import Ints


class Candidates(NamedTuple):
    """Records of one side: numbers of their keys, timestamps, and when they came: the row of those of the batch.

    Those that were there before it have negative numbers instead, ascending in the order they came.
    """

    keys: Ints
    times: Ints
    arrivals: Ints


class Seekers(NamedTuple):
    """Records of the other side, by ascending row: numbers of their keys, and from when to when they look."""

    rows: Ints
    keys: Ints
    from_ms: Ints
    to_ms: Ints


class Pairs(NamedTuple):
    """Ascending rows of those that seek, and for each the places of those it meets, by timestamp, then arrival."""

    rows: Ints
    places: Ints


class Partners:
    """Every pair in which the record that is kept came before the one that seeks."""

    def __init__(self, kept: Candidates, seekers: Seekers) -> None:
        self._order = np.lexsort((kept.arrivals, kept.times, kept.keys))
        self._arrivals = kept.arrivals[self._order]
        self._rows = seekers.rows
        levels, ranks = np.unique(kept.times, return_inverse=True)
        span = len(levels) + 1
        ordered = (kept.keys * span + ranks)[self._order]
        self._first = np.searchsorted(ordered, seekers.keys * span + np.searchsorted(levels, seekers.from_ms))
        end = np.searchsorted(ordered, seekers.keys * span + np.searchsorted(levels, seekers.to_ms, "right"))
        self._counts: npt.NDArray[np.intp] = np.maximum(end - self._first, 0)

    def most_by_row(self, rows: int) -> npt.NDArray[np.intp]:
        """How many each of so many rows meets at most."""
        counts = np.zeros(rows, np.intp)
        counts[self._rows] = self._counts
        return counts

    def of_rows(self, start: int, stop: int) -> Pairs:
        """The pairs of the rows from one to before another."""
        first, end = np.searchsorted(self._rows, (start, stop))
        counts = self._counts[first:end]
        rows = np.repeat(self._rows[first:end], counts)
        skipped = np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(self._first[first:end], counts) + np.arange(len(rows)) - skipped
        before = self._arrivals[places] < rows
        return Pairs(rows[before], self._order[places[before]])
