"""Rewrites records without changing their offsets.

Consolidation writes the records of many small commits as one data file. Compaction writes the last record of each key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.topics.embedded.catalog import Catalog
from headrace.topics.embedded.commit_log.entries import ConsolidatedRun, TopicCommit
from headrace.topics.embedded.partition_index import OffsetRange
from headrace.topics.embedded.segments import OFFSET
from headrace.topics.embedded.writer import SegmentWriter
from headrace.topics.records import offsets_of

Read = Callable[[str, int, int, int], Iterator[pa.RecordBatch]]


def ranges_of(catalog: Catalog, commits: Iterable[tuple[int, TopicCommit]]) -> list[OffsetRange]:
    """Returns the offset ranges that are still read from some commits; merges adjacent ranges.

    Each commit comes with its byte offset in the log.
    """
    found = []
    for position, commit in commits:
        runs = (*commit.runs, *(moved.run for moved in commit.consolidated))
        for topic, partition in {(run.topic, run.partition) for run in runs}:
            parts = catalog.partition(topic, partition).parts_of(position)
            found += [OffsetRange(topic, partition, part.first, part.end) for part in parts]
    return _joined(sorted(found))


def rewrite(ranges: Sequence[OffsetRange], read: Read, writer: SegmentWriter) -> tuple[ConsolidatedRun, ...]:
    """Writes the records of each range as one segment run, all in one data file."""
    for topic, partition, first, end in ranges:
        for batch in read(topic, partition, first, end):
            writer.write(topic, partition, batch, first)
    return tuple(
        ConsolidatedRun(wanted.first, wanted.end, run) for wanted, run in zip(ranges, writer.finish(), strict=True)
    )


def compact(records: OffsetRange, read: Read, writer: SegmentWriter) -> ConsolidatedRun:
    """Writes the last record of each key, at its offset. Records without a key, and tombstones, stay."""
    last: dict[bytes, int] = {}
    for batch, offsets in _with_offsets(records, read):
        last.update(zip(batch.column("key").to_pylist(), offsets.tolist(), strict=True))
    for batch, offsets in _with_offsets(records, read):
        keys = batch.column("key").to_pylist()
        is_last = [key is None or last[key] == offset for key, offset in zip(keys, offsets.tolist(), strict=True)]
        stored = batch if OFFSET.name in batch.schema.names else batch.append_column(OFFSET, pa.array(offsets))
        writer.write(records.topic, records.partition, stored.filter(pa.array(is_last)))
    (run,) = writer.finish()
    return ConsolidatedRun(records.first, records.end, run)


def _with_offsets(records: OffsetRange, read: Read) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.int64]]]:
    first = records.first
    for batch in read(*records):
        offsets = np.asarray(offsets_of(batch, first))
        yield batch, offsets
        first = int(offsets[-1]) + 1


def _joined(ranges: list[OffsetRange]) -> list[OffsetRange]:
    """Merges sorted ranges that are adjacent."""
    if not ranges:
        return []
    joins = [
        (before.topic, before.partition, before.end) == (after.topic, after.partition, after.first)
        for before, after in pairwise(ranges)
    ]
    firsts = [wanted for wanted, joined in zip(ranges, [False, *joins], strict=True) if not joined]
    ends = [wanted.end for wanted, joined in zip(ranges, [*joins, False], strict=True) if not joined]
    return [first._replace(end=end) for first, end in zip(firsts, ends, strict=True)]
