"""Reads records by offset from extents, which were looked up in the commit log; the log itself is not needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.topics.batches import coalesce
from headrace.topics.embedded.merge import Merge
from headrace.topics.embedded.segments import OFFSET, RECORD_SCHEMA, Extent, load_blob


def read_extents(segments: Path, extents: Sequence[Extent], start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Reads the records at offsets `start` to `end`, exclusive, in batches of bounded size.

    If the offsets of one extent have gaps, all batches have a column of offsets.
    """
    with_offsets = any(extent.has_gaps for extent in extents)
    return coalesce(batch for extent in extents for batch in _read(segments, extent, start, end, with_offsets))


def read_timestamps(segments: Path, extents: Iterable[Extent], start: int, end: int) -> npt.NDArray[np.int64]:
    """Reads the timestamps of the records at offsets `start` to `end`, exclusive, one for each offset."""
    parts = [np.empty(0, np.int64)]
    for extent in extents:
        if len(extent.runs) > 1:
            parts.append(Merge(segments, extent).timestamps(*_within(extent, start, end)))
        elif extent.has_gaps:
            batches = list(_read_gaps(segments, extent, start, end, ["timestamp", OFFSET.name]))
            parts.append(_fill_gaps(batches, range(max(start, extent.first), min(end, extent.end))))
        else:
            parts += [batch.column(0).to_numpy() for batch in _read_run(segments, extent, start, end, ["timestamp"])]
    return np.concatenate(parts)


def _read(segments: Path, extent: Extent, start: int, end: int, with_offsets: bool) -> Iterator[pa.RecordBatch]:
    if extent.has_gaps:
        yield from _read_gaps(segments, extent, start, end, [*RECORD_SCHEMA.names, OFFSET.name])
        return
    if len(extent.runs) > 1:
        batches = Merge(segments, extent).batches(*_within(extent, start, end))
    else:
        batches = _read_run(segments, extent, start, end, RECORD_SCHEMA.names)
    first = max(start, extent.first)
    for batch in batches:
        last = first + batch.num_rows
        yield batch.append_column(OFFSET, pa.array(range(first, last), OFFSET.type)) if with_offsets else batch
        first = last


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


def _read_gaps(
    segments: Path, extent: Extent, start: int, end: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    (run,) = extent.runs
    for blob, (first, last) in zip(run.blobs, pairwise((*run.offsets, extent.end)), strict=True):
        if first < end and last > start:
            batch = load_blob(segments, run, blob, columns, (first, last))
            low, high = np.searchsorted(batch.column(OFFSET.name).to_numpy(), [start, end]).tolist()
            if low < high:
                yield batch.slice(low, high - low)


def _fill_gaps(batches: list[pa.RecordBatch], offsets: range) -> npt.NDArray[np.int64]:
    """Returns one timestamp for each of `offsets`.

    An offset in a gap gets the timestamp of the record before the gap, or -1 if `batches` have no record before it.
    """
    timestamps = np.concatenate([[-1], *(batch.column("timestamp").to_numpy() for batch in batches)])
    known = np.concatenate([np.empty(0, np.int64), *(batch.column(OFFSET.name).to_numpy() for batch in batches)])
    filled: npt.NDArray[np.int64] = timestamps[np.searchsorted(known, np.asarray(offsets), side="right")]
    return filled
