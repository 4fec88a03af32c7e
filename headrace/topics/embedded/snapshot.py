"""The snapshot at the beginning of a shortened commit log. It has everything that readers need of earlier entries.

Its first entry has the topics and the last batch of every producer. Each other entry is an earlier commit with only the
runs that are still read, and their offsets. Last batches are never removed, because an application may be stopped for
any length of time before it commits its last batch again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from headrace._formats import TOPICS_UPKEEP
from headrace.topics.embedded.catalog import Catalog, CatalogState
from headrace.topics.embedded.commit_log.entries import ConsolidatedRun, TopicCommit, decode, decode_summary, encode
from headrace.topics.embedded.commit_log.journal import Entries
from headrace.topics.embedded.partition_index import OffsetRange

_decode_state = msgspec.json.Decoder(CatalogState).decode


def take(catalog: Catalog, read_at: Callable[[Iterable[int]], Iterable[bytes]]) -> list[bytes]:
    """Creates the entries of a snapshot from a catalog; `read_at` reads entries of the log at byte offsets."""
    live = sorted(catalog.ranges_by_commit().items())
    commits = map(decode, read_at(position for position, _ in live))
    left = [
        TopicCommit(TOPICS_UPKEEP, consolidated=tuple(_live_runs(commit, ranges)), level=commit.level)
        for (_, ranges), commit in zip(live, commits, strict=True)
    ]
    files = {moved.run.file for commit in left for moved in commit.consolidated}
    return [msgspec.json.encode(catalog.state(files)), *map(encode, left)]


def restore(entries: Entries, directory: Path) -> Catalog:
    """Builds the catalog from the entries of a snapshot."""
    (_, state), *commits = entries
    return Catalog.restored(
        _decode_state(state), ((position, decode_summary(commit, directory)) for position, commit in commits)
    )


def _live_runs(commit: TopicCommit, ranges: list[OffsetRange]) -> Iterator[ConsolidatedRun]:
    """The runs of a commit that hold these ranges, with their offsets."""
    # The new records of a commit are one range in each partition.
    by_partition = {(wanted.topic, wanted.partition): wanted for wanted in ranges}
    for run in commit.runs:
        wanted = by_partition.get((run.topic, run.partition))
        if wanted is not None:
            yield ConsolidatedRun(wanted.first, wanted.end, run)
    firsts = {wanted[:3] for wanted in ranges}
    for moved in commit.consolidated:
        if (moved.run.topic, moved.run.partition, moved.first) in firsts:
            yield moved
