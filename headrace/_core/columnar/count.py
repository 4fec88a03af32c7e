"""count on a grouped stream, for a whole batch: every update, as the record path gives them."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from headrace._core.columnar.batch import Batch, longs
from headrace._core.operator import Operator
from headrace._state.api import ByteStore

Ints = npt.NDArray[np.int64]

_ABSENT = struct.pack(">qq", -1, 0)  # timestamp and count of a key that was never counted


class CountForm:
    """Counts by the bytes of the keys; `forward` gets every update as a batch of `serdes.Long()` values."""

    def __init__(self, operator: Operator, store: ByteStore, forward: Callable[[Batch], None]) -> None:
        self._operator = operator
        self._store = store
        self._forward = forward

    def __call__(self, batch: Batch) -> None:
        batch = self._countable(batch)
        if not len(batch.keys):
            return
        encoded = batch.keys.dictionary_encode()
        keys: list[bytes] = encoded.dictionary.to_pylist()
        rows = Groups(encoded.indices.to_numpy(), len(keys))
        stored = b"".join(raw or _ABSENT for raw in self._store.get_many(keys))
        times, counts = np.frombuffer(stored, ">i8").reshape(-1, 2).T.astype(np.int64)
        counted = rows.running_count(counts)
        latest = rows.running_max(batch.timestamps, times)
        self._put(keys, rows.last(latest), rows.last(counted))
        self._forward(batch._replace(values=longs(counted), timestamps=latest))

    def _countable(self, batch: Batch) -> Batch:
        keyed, valued = pc.is_valid(batch.keys), pc.is_valid(batch.values)
        if not batch.keys.null_count and not batch.values.null_count:
            return batch
        context, name = self._operator.context, self._operator.name
        context.drop(name, "null key", batch.keys.null_count)
        context.drop(name, "null value", pc.sum(pc.and_(keyed, pc.invert(valued))).as_py())
        return batch.where(pc.and_(keyed, valued))

    def _put(self, keys: list[bytes], times: Ints, counts: Ints) -> None:
        raw = np.column_stack((times, counts)).astype(">i8").tobytes()
        self._store.put_many(zip(keys, (raw[at : at + 16] for at in range(0, len(raw), 16)), strict=True))


class Groups:
    """Rows by group, for what runs along the rows of each group; every group has a row."""

    def __init__(self, groups: npt.NDArray[np.int32], count: int) -> None:
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
