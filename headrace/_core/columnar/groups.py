"""Running counts and maxima along the rows of each group, for whole columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Groups:
    """Rows that belong to groups: `groups` has the number of each row's group. No group is empty.

    Rows are sorted by group once. A running maximum of every group is then one pass over all rows: the values of a
    group are raised above those of the groups before it, so that no maximum carries over.
    """

    def __init__(self, groups: npt.NDArray[np.int32], count: int) -> None:
        self._rows = len(groups)
        self._by_group = np.argsort(groups, kind="stable")
        self._sorted = groups[self._by_group]
        sizes = np.bincount(groups, minlength=count)
        self._ends = np.cumsum(sizes) - 1
        self._starts = self._ends - sizes + 1

    def running_count(self, start: Ints) -> Ints:
        """For each row, the number of rows of its group up to and including it, plus the group's `start`."""
        within = np.arange(1, len(self._sorted) + 1) - self._starts[self._sorted]
        return self._unsorted(start[self._sorted] + within)

    def running_max(self, values: Ints, start: Ints) -> Ints:
        """For each row, the maximum of the values of its group up to and including it, and the group's `start`."""
        ordered = values[self._by_group]
        ordered[self._starts] = np.maximum(ordered[self._starts], start)
        lowest, span = int(ordered.min()), int(ordered.max()) - int(ordered.min()) + 1
        # Lifted values must fit into 64 bits; if they would not, their ranks do.
        if span * len(start) < 1 << 62:
            return self._unsorted(self._lifted_max(ordered - lowest, span) + lowest)
        levels, ranks = np.unique(ordered, return_inverse=True)
        return self._unsorted(levels[self._lifted_max(ranks, len(levels))])

    def first_reaching(self, values: Ints, groups: npt.NDArray[np.int32], bounds: Ints) -> npt.NDArray[np.intp]:
        """For each pair of a group and a bound, the group's first row whose value is at least the bound.

        If there is none, the result is the number of all rows. Values must not decrease along the rows of a group.
        """
        levels, ranks = np.unique(values, return_inverse=True)
        span = len(levels) + 1
        lifted = self._sorted * np.int64(span) + ranks[self._by_group]
        indices = np.searchsorted(lifted, groups * np.int64(span) + np.searchsorted(levels, bounds))
        rows = np.append(self._by_group, self._rows)[indices]
        return np.where(indices > self._ends[groups], self._rows, rows)

    def lowest(self, values: Ints) -> Ints:
        """The lowest value of each group."""
        lowest: Ints = np.minimum.reduceat(values[self._by_group], self._starts)
        return lowest

    def last(self, values: Ints) -> Ints:
        """The value of the last row of each group, in the order of the groups; `values` has a value for each row."""
        return values[self._by_group[self._ends]]

    def _lifted_max(self, ordered: Ints, span: int) -> Ints:
        """The running maximum of each group, for values from 0 to below `span`."""
        lift = self._sorted * np.int64(span)
        highest: Ints = np.maximum.accumulate(ordered + lift) - lift
        return highest

    def _unsorted(self, values: Ints) -> Ints:
        result = np.empty_like(values)
        result[self._by_group] = values
        return result
