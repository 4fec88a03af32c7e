"""Rows by group: what runs along the rows of each group, for whole columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Groups:
    """Rows by group, for what runs along the rows of each group; every group has a row."""

    def __init__(self, groups: npt.NDArray[np.int32], count: int) -> None:
        self._rows = len(groups)
        self._by_group = np.argsort(groups, kind="stable")
        self._sorted = groups[self._by_group]
        sizes = np.bincount(groups, minlength=count)
        self._ends = np.cumsum(sizes) - 1
        self._starts = self._ends - sizes + 1

    def running_count(self, start: Ints) -> Ints:
        """For each row, how many rows of its group there are up to it, on top of the group's start."""
        within = np.arange(1, len(self._sorted) + 1) - self._starts[self._sorted]
        return self._unsorted(start[self._sorted] + within)

    def running_max(self, values: Ints, start: Ints) -> Ints:
        """For each row, the highest value of its group up to it and of the group's start."""
        ordered = values[self._by_group]
        ordered[self._starts] = np.maximum(ordered[self._starts], start)
        lowest, span = int(ordered.min()), int(ordered.max()) - int(ordered.min()) + 1
        if span * len(start) < 1 << 62:
            return self._unsorted(self._highest(ordered - lowest, span) + lowest)
        levels, ranks = np.unique(ordered, return_inverse=True)
        return self._unsorted(levels[self._highest(ranks, len(levels))])

    def first_reaching(self, values: Ints, groups: npt.NDArray[np.int32], bounds: Ints) -> npt.NDArray[np.intp]:
        """The first row of a group whose value is no less than a bound, for pairs of both; beyond all rows if none is.

        Along the rows of a group, values may only grow.
        """
        levels, ranks = np.unique(values, return_inverse=True)
        span = len(levels) + 1
        lifted = self._sorted * np.int64(span) + ranks[self._by_group]
        found = np.searchsorted(lifted, groups * np.int64(span) + np.searchsorted(levels, bounds))
        rows = np.append(self._by_group, self._rows)[found]
        return np.where(found > self._ends[groups], self._rows, rows)

    def lowest(self, values: Ints) -> Ints:
        """The lowest value of each group."""
        lowest: Ints = np.minimum.reduceat(values[self._by_group], self._starts)
        return lowest

    def last(self, values: Ints) -> Ints:
        """The value of each group's last row."""
        return values[self._by_group[self._ends]]

    def _highest(self, ordered: Ints, span: int) -> Ints:
        """One running maximum for all groups, each lifted above the one before; values are below `span`."""
        lift = self._sorted * np.int64(span)
        highest: Ints = np.maximum.accumulate(ordered + lift) - lift
        return highest

    def _unsorted(self, values: Ints) -> Ints:
        result = np.empty_like(values)
        result[self._by_group] = values
        return result
