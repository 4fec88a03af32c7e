"""Merges the runs that several writers committed together for one partition, by their order columns.

Writers do not know of each other, so runs are merged when they are read. Their rows are numbered through, one run after
the other, and the merge order is a permutation of these numbers. Only the blobs with the rows of the next batch are in
memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.topics.batches import concatenate, max_batch_rows
from headrace.topics.embedded.segments import ORDER_SCHEMA, RECORD_SCHEMA, Extent, load_blob


class Merge:
    """Reads the merged rows of an extent; row 0 has its first offset."""

    def __init__(self, segments: Path, extent: Extent) -> None:
        self._segments = segments
        self._extent = extent
        self._blobs = [(run, blob) for run in extent.runs for blob in run.blobs]
        self._firsts = np.array([0, *accumulate(blob.rows for _, blob in self._blobs)])

    def batches(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Reads the records of rows `start` to `end`, exclusive."""
        order = _merge_order(self._segments, self._extent)[start:end]
        step = max_batch_rows(int(self._firsts[-1]), sum(blob.size for _, blob in self._blobs))
        loaded: dict[int, pa.RecordBatch] = {}
        for at in range(0, len(order), step):
            rows = order[at : at + step]
            needed, which = np.unique(np.searchsorted(self._firsts, rows, side="right") - 1, return_inverse=True)
            loaded = {i: loaded[i] if i in loaded else self._load(i, RECORD_SCHEMA.names) for i in needed.tolist()}
            yield _gather([loaded[i] for i in needed.tolist()], which, rows - self._firsts[needed][which])

    def timestamps(self, start: int, end: int) -> npt.NDArray[np.int64]:
        """Reads the timestamps of rows `start` to `end`, exclusive."""
        timestamps = np.concatenate(
            [self._load(i, ["timestamp"]).column(0).to_numpy() for i in range(len(self._blobs))]
        )
        return timestamps[_merge_order(self._segments, self._extent)[start:end]]

    def order(self) -> npt.NDArray[np.int64]:
        """The merge order: for each offset of the extent, the number of its row."""
        batches = [self._load(i, ORDER_SCHEMA.names) for i in range(len(self._blobs))]
        columns = [np.concatenate([batch.column(name).to_numpy() for batch in batches]) for name in ORDER_SCHEMA.names]
        # lexsort expects the most significant column last. A constant column would only cost another sort.
        varying = [column for column in reversed(columns) if column.min() != column.max()]
        return np.lexsort(varying) if varying else np.arange(len(columns[0]))

    def _load(self, index: int, columns: list[str]) -> pa.RecordBatch:
        run, blob = self._blobs[index]
        return load_blob(self._segments, run, blob, columns, (self._extent.first, self._extent.end))


@lru_cache(maxsize=4)
def _merge_order(segments: Path, extent: Extent) -> npt.NDArray[np.int64]:
    """The merge order of an extent. Cached because a large extent is read in many slices, and files never change."""
    return Merge(segments, extent).order()


def _gather(batches: list[pa.RecordBatch], which: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """Takes row `rows[i]` of batch `which[i]`, for all i; copies only the range of rows in use of each batch."""
    lows = np.full(len(batches), np.iinfo(np.int64).max)
    highs = np.zeros(len(batches), np.int64)
    np.minimum.at(lows, which, rows)
    np.maximum.at(highs, which, rows + 1)
    lengths = highs - lows
    parts = [
        batch.slice(low, length) for batch, low, length in zip(batches, lows.tolist(), lengths.tolist(), strict=True)
    ]
    starts = np.cumsum(lengths) - lengths
    return concatenate(parts).take(pa.array(starts[which] + rows - lows[which]))
