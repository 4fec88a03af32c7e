"""The contents of the commit log, in memory: topics, which commit holds which offsets, each producer's last batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Self

import msgspec

from headrace.errors import TopicError
from headrace.topics.embedded.commit_log.entries import SegmentRunSummary, TopicCommit
from headrace.topics.embedded.commit_log.journal import LogPosition
from headrace.topics.embedded.names import check_partition, check_topic, unknown_topic
from headrace.topics.embedded.partition_index import OffsetRange, Part, PartitionIndex, PartitionState
from headrace.topics.embedded.segments import SegmentRun
from headrace.topics.policy import UNLIMITED, TopicPolicy

_ROW_BYTES = 128  # the assumed size of a record in runs of early versions, which did not save their size

# Data files are consolidated in groups of this many, so a record is rewritten once for each factor of 64 in the number
# of files. Files of `_LARGE_BYTES` or more are left alone, and a group has about `_GROUP_BYTES`: that bounds the work.
FAN_IN = 64
_LARGE_BYTES = 4 << 20
_GROUP_BYTES = 16 << 20


class StoredCommit(msgspec.Struct, gc=False):
    """A commit with records that are still read: their size in bytes, in how many parts they are, its data files."""

    level: int
    size: int = 0
    parts: int = 0
    files: tuple[str, ...] = ()


class CatalogState(msgspec.Struct, frozen=True):
    """The first entry of a snapshot: everything in a catalog except which commits hold which records."""

    topics: dict[str, list[PartitionState]]
    policies: dict[str, TopicPolicy]
    batches: dict[str, int]
    superseded: list[str]


class Catalog:
    """The contents of the commit log up to `position`.

    `files` are the data files with committed records. `superseded` files are no longer read and wait to be deleted.
    """

    def __init__(self) -> None:
        self.position = LogPosition()
        self.files: set[str] = set()
        self.superseded: set[str] = set()
        self._topics: dict[str, list[PartitionIndex]] = {}
        self._policies: dict[str, TopicPolicy] = {}
        self._batches: dict[str, int] = {}
        self._stored: dict[int, StoredCommit] = {}
        self._small: dict[int, dict[int, StoredCommit]] = {}

    @classmethod
    def restored(cls, state: CatalogState, commits: Iterable[tuple[int, TopicCommit[SegmentRunSummary]]]) -> Self:
        """Builds a catalog from a snapshot of the log: its state, and those commits that still hold records.

        Each commit comes with its byte offset in the log. In a snapshot, a commit has its runs in `consolidated`
        instead of `runs`, because there they come with their record offsets.
        """
        catalog = cls()
        parts: dict[tuple[str, int, int], Part] = {}
        for position, commit in commits:
            before = len(parts)
            for moved in commit.consolidated:
                run, key = moved.run, (moved.run.topic, moved.run.partition, moved.first)
                part = parts.get(key, Part(moved.first, moved.end, position, 0, run.newest_ms))
                parts[key] = part._replace(size=part.size + _size(run), newest_ms=max(part.newest_ms, run.newest_ms))
            runs = [moved.run for moved in commit.consolidated]
            stored = StoredCommit(commit.level, sum(map(_size, runs)), len(parts) - before)
            catalog._store(position, stored, runs)
        parts_by_partition: dict[tuple[str, int], list[Part]] = {}
        for (topic, partition, _), part in sorted(parts.items()):
            parts_by_partition.setdefault((topic, partition), []).append(part)
        for topic, states in state.topics.items():
            catalog._topics[topic] = [
                PartitionIndex.restored(one, parts_by_partition.get((topic, partition), ()))
                for partition, one in enumerate(states)
            ]
        catalog._policies.update(state.policies)
        catalog._batches.update(state.batches)
        catalog.superseded.update(state.superseded)
        return catalog

    def state(self, live_files: AbstractSet[str]) -> CatalogState:
        """The state to save in a snapshot whose runs are in `live_files`; all other data files become superseded."""
        topics = {topic: [index.state for index in partitions] for topic, partitions in self._topics.items()}
        superseded = sorted(self.superseded | (self.files - live_files))
        return CatalogState(topics, self._policies, self._batches, superseded)

    def ranges_by_commit(self) -> dict[int, list[OffsetRange]]:
        """The offset ranges that are still read from each commit, by the commit's byte offset in the log.

        A commit is missing if none of its records is read from it any more.
        """
        ranges: dict[int, list[OffsetRange]] = {}
        for topic, partitions in self._topics.items():
            for partition, index in enumerate(partitions):
                for part in index:
                    ranges.setdefault(part.position, []).append(OffsetRange(topic, partition, part.first, part.end))
        return ranges

    def add(self, commit: TopicCommit[SegmentRunSummary], position: int) -> None:
        """Adds the next commit of the log, whose entry begins at byte `position`; `self.position` stays as it is."""
        for topic, partitions in commit.create.items():
            self._topics[topic] = [PartitionIndex() for _ in range(partitions)]
        self._policies.update(commit.policies)
        if commit.producer is not None and commit.batch is not None:
            self._batches[commit.producer] = commit.batch
        for topic, begins in commit.begin.items():
            for index, begin in zip(self._topics[topic], begins, strict=True):
                self._release(index.trim(begin))
        stored = StoredCommit(commit.level)
        for run in commit.runs:
            stored.size += _size(run)
            stored.parts += self._topics[run.topic][run.partition].add(run.rows, position, _size(run), run.newest_ms)
        for moved in commit.consolidated:
            run, index = moved.run, self._topics[moved.run.topic][moved.run.partition]
            stored.size += run.size
            stored.parts += 1
            self._release(index.replace(Part(moved.first, moved.end, position, run.size, run.newest_ms)))
            if commit.compacts:
                index.note_compaction(moved.end, run.rows)
        if stored.parts:
            self._store(position, stored, (*commit.runs, *(moved.run for moved in commit.consolidated)))

    def _store(self, position: int, stored: StoredCommit, runs: Iterable[SegmentRunSummary]) -> None:
        stored.files = tuple({run.file for run in runs})
        self.files.update(stored.files)
        self._stored[position] = stored
        self._note_size(position, stored)

    def _release(self, parts: Iterable[Part]) -> None:
        """Notes that parts no longer refer to their commits. The files of a commit without parts are superseded."""
        for part in parts:
            stored = self._stored[part.position]
            stored.parts -= 1
            stored.size -= part.size
            if stored.parts:
                self._note_size(part.position, stored)
                continue
            del self._stored[part.position]
            self._small.get(stored.level, {}).pop(part.position, None)
            self.files.difference_update(stored.files)
            self.superseded.update(stored.files)

    def _note_size(self, position: int, stored: StoredCommit) -> None:
        if stored.size < _LARGE_BYTES:
            self._small.setdefault(stored.level, {})[position] = stored

    def small_commits(self) -> tuple[int, list[int]]:
        """The next commits to consolidate: their level, and their byte offsets in the log, oldest first.

        There are no offsets if no level has at least `FAN_IN` small commits.
        """
        for level, small in sorted(self._small.items()):
            if len(small) >= FAN_IN:
                chosen, size = [], 0
                for position, stored in islice(small.items(), FAN_IN):
                    chosen.append(position)
                    size += stored.size
                    if size >= _GROUP_BYTES:
                        break
                return level, chosen
        return 0, []

    def uncompacted(self) -> OffsetRange | None:
        """The records of the next partition to compact; `None` if no partition has enough new records."""
        for topic, policy in self._policies.items():
            for partition, index in enumerate(self._topics[topic] if policy.compacts else ()):
                if index.needs_compaction(FAN_IN):
                    return OffsetRange(topic, partition, index.begin, index.end)
        return None

    @property
    def needs_upkeep(self) -> bool:
        """Whether there are data files to consolidate or to delete, or a partition to compact."""
        has_many = any(len(small) >= FAN_IN for small in self._small.values())
        return has_many or len(self.superseded) >= 2 * FAN_IN or self.uncompacted() is not None

    def policy(self, topic: str) -> TopicPolicy:
        """The policy by which records of a topic are deleted; `UNLIMITED` without one, or if there is no such topic."""
        return self._policies.get(topic, UNLIMITED)

    def expired(self, now_ms: int) -> dict[str, list[int]]:
        """The topics with records to delete by their policies, and the new first offset of each of their partitions."""
        found = {}
        for topic, policy in self._policies.items():
            oldest_ms = None if policy.retention_ms is None else now_ms - policy.retention_ms
            partitions = self._topics[topic]
            begins = [partition.begin_within(oldest_ms, policy.retention_bytes) for partition in partitions]
            if begins != [partition.begin for partition in partitions]:
                found[topic] = begins
        return found

    def topics(self) -> dict[str, int]:
        return {topic: len(partitions) for topic, partitions in self._topics.items()}

    def partitions(self, topic: str) -> list[PartitionIndex]:
        if topic not in self._topics:
            raise unknown_topic(topic, self._topics)
        return self._topics[topic]

    def partition(self, topic: str, partition: int) -> PartitionIndex:
        partitions = self.partitions(topic)
        check_partition(topic, partition, len(partitions))
        return partitions[partition]

    def has_committed(self, producer: str, batch: int) -> bool:
        """Whether the producer has committed this batch, or a later one."""
        return batch <= self._batches.get(producer, -1)

    def last_batch(self, producer: str) -> int | None:
        """The newest batch that the producer has committed; `None` before its first."""
        return self._batches.get(producer)

    def to_create(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """The wanted topics that do not exist yet.

        Raises:
            TopicError: if one has an invalid name, or exists with another number of partitions.
        """
        for topic, partitions in wanted.items():
            check_topic(topic, partitions)
            existing = len(self._topics.get(topic, ()))
            if existing not in (0, partitions):
                message = (
                    f"Topic {topic!r} cannot be created with {partitions} partitions: it exists with {existing}. "
                    "Use that number, or another name."
                )
                raise TopicError(message)
        return {topic: partitions for topic, partitions in wanted.items() if topic not in self._topics}

    def check_runs(self, runs: Iterable[SegmentRun], created: Mapping[str, int]) -> None:
        """Checks runs before they are committed; `created` has the topics that the same commit creates.

        Raises:
            TopicError: if a run's partition does not exist, a run is already committed, or runs cannot be merged.
        """
        counts = {**self.topics(), **created}
        groups: dict[tuple[str, int], list[SegmentRun]] = {}
        for run in runs:
            groups.setdefault((run.topic, run.partition), []).append(run)
        for (topic, partition), group in groups.items():
            if topic not in counts:
                raise unknown_topic(topic, counts)
            check_partition(topic, partition, counts[topic])
            subject = f"Topic {topic!r}, partition {partition}"
            repeated = [run.file for run in group if run.file in self.files or run.file in self.superseded]
            if repeated:
                message = (
                    f"{subject}: the records of {repeated[0]!r} are already committed; commit what a writer wrote once."
                )
                raise TopicError(message)
            if len(group) > 1 and not all(run.ordered for run in group):
                message = f"{subject}: {len(group)} runs in one commit can only be merged if all have order columns."
                raise TopicError(message)


def _size(run: SegmentRunSummary) -> int:
    return run.size or run.rows * _ROW_BYTES
