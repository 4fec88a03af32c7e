"""Reads records by offset from extents: once looked up in the commit log, they can be read without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.topics.batches import coalesce
from headrace.topics.embedded.merge import Merge
from headrace.topics.embedded.segments import RECORD_SCHEMA, Extent, load_blob


def read_extents(segments: Path, extents: Iterable[Extent], start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Reads the records at offsets `start` to `end`, exclusive, in batches of bounded size."""
    return coalesce(batch for extent in extents for batch in _read(segments, extent, start, end))


def read_timestamps(segments: Path, extents: Iterable[Extent], start: int, end: int) -> npt.NDArray[np.int64]:
    """Reads the timestamps of the records at offsets `start` to `end`, exclusive."""
    parts = [np.empty(0, np.int64)]
    for extent in extents:
        if len(extent.runs) > 1:
            parts.append(Merge(segments, extent).timestamps(*_within(extent, start, end)))
        else:
            parts += [batch.column(0).to_numpy() for batch in _read_run(segments, extent, start, end, ["timestamp"])]
    return np.concatenate(parts)


def _read(segments: Path, extent: Extent, start: int, end: int) -> Iterator[pa.RecordBatch]:
    if len(extent.runs) > 1:
        return Merge(segments, extent).batches(*_within(extent, start, end))
    return _read_run(segments, extent, start, end, RECORD_SCHEMA.names)


def _within(extent: Extent, start: int, end: int) -> tuple[int, int]:
    return max(start - extent.first, 0), max(end - extent.first, 0)


def _read_run(segments: Path, extent: Extent, start: int, end: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    (run,) = extent.runs
    first = extent.first
    for blob in run.blobs:
        last = first + blob.rows
        if first < end and last > start:
            batch = load_blob(segments, run, blob, columns, (first, last))
            skip = max(start - first, 0)
            yield batch.slice(skip, min(end, last) - first - skip)
        first = last
