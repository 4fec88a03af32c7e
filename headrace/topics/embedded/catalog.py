"""The contents of the commit log, in memory: topics, which commit holds which offsets, each producer's last batch."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping

import msgspec

from headrace.errors import TopicError, known_names, nearest
from headrace.topics.embedded.segments import SegmentRun

FORMAT = 1
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class TopicCommit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the commit log: everything in it becomes visible at once."""

    format: int
    producer: str | None = None
    batch: int | None = None
    create: dict[str, int] = {}
    runs: tuple[SegmentRun, ...] = ()


class SegmentRunSummary(msgspec.Struct, frozen=True, gc=False):
    """The part of a run that the catalog needs."""

    topic: str
    partition: int
    rows: int
    file: str


class TopicCommitSummary(msgspec.Struct, frozen=True):
    """The part of a commit that the catalog needs: decoding only this takes half the time."""

    format: int
    producer: str | None = None
    batch: int | None = None
    create: dict[str, int] = {}
    runs: tuple[SegmentRunSummary, ...] = ()


class PartitionIndex:
    """Which commits hold which offsets of one partition: 16 bytes per commit, because a log may have very many."""

    def __init__(self) -> None:
        self._ends = array("q")
        self._positions = array("q")

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self._ends[-1] if self._ends else 0

    def add(self, rows: int, position: int) -> None:
        """Adds the rows of a run, from the commit at a position of the log."""
        if self._positions and self._positions[-1] == position:
            self._ends[-1] += rows
        else:
            self._ends.append(self.end + rows)
            self._positions.append(position)

    def between(self, start: int, end: int) -> list[tuple[int, int]]:
        """The first offset and the log position of each commit that holds offsets in `start` to `end`, exclusive."""
        if start >= end:
            return []
        first, last = bisect_right(self._ends, start), bisect_right(self._ends, end - 1)
        return [(self._ends[i - 1] if i else 0, self._positions[i]) for i in range(first, last + 1)]


class Catalog:
    """What the commit log contains up to `position`."""

    def __init__(self) -> None:
        self.position = 0
        self.files: set[str] = set()
        self._topics: dict[str, list[PartitionIndex]] = {}
        self._batches: dict[str, int] = {}

    def add(self, commit: TopicCommitSummary, position: int) -> None:
        """Adds the commit at a position of the log."""
        for topic, partitions in commit.create.items():
            self._topics[topic] = [PartitionIndex() for _ in range(partitions)]
        for run in commit.runs:
            self._topics[run.topic][run.partition].add(run.rows, position)
            self.files.add(run.file)
        if commit.producer is not None and commit.batch is not None:
            self._batches[commit.producer] = commit.batch

    def topics(self) -> dict[str, int]:
        return {topic: len(partitions) for topic, partitions in self._topics.items()}

    def partitions(self, topic: str) -> list[PartitionIndex]:
        if topic not in self._topics:
            raise _unknown_topic(topic, self._topics)
        return self._topics[topic]

    def partition(self, topic: str, partition: int) -> PartitionIndex:
        partitions = self.partitions(topic)
        check_partition(topic, partition, len(partitions))
        return partitions[partition]

    def has_committed(self, producer: str, batch: int) -> bool:
        """Whether the producer has committed this batch, or a later one."""
        return batch <= self._batches.get(producer, -1)

    def last_batch(self, producer: str) -> int | None:
        """The newest batch the producer has committed."""
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
        """Refuses runs for partitions that do not exist, runs committed before, and runs that cannot be merged."""
        counts = {**self.topics(), **created}
        groups: dict[tuple[str, int], list[SegmentRun]] = {}
        for run in runs:
            groups.setdefault((run.topic, run.partition), []).append(run)
        for (topic, partition), group in groups.items():
            if topic not in counts:
                raise _unknown_topic(topic, counts)
            check_partition(topic, partition, counts[topic])
            subject = f"Topic {topic!r}, partition {partition}"
            repeated = [run.file for run in group if run.file in self.files]
            if repeated:
                message = (
                    f"{subject}: the records of {repeated[0]!r} are already committed; commit what a writer wrote once."
                )
                raise TopicError(message)
            if len(group) > 1 and not all(run.ordered for run in group):
                message = f"{subject}: {len(group)} runs in one commit can only be merged if all have order columns."
                raise TopicError(message)


def check_partition(topic: str, partition: int, partitions: int) -> None:
    """Refuses a partition that a topic does not have."""
    if not 0 <= partition < partitions:
        message = f"Topic {topic!r} has no partition {partition}; it has {partitions}, counted from 0."
        raise TopicError(message)


def check_topic(topic: str, partitions: int) -> None:
    """Refuses a name or a number of partitions that no topic can have."""
    if not isinstance(topic, str) or not _NAME.fullmatch(topic) or topic in (".", ".."):
        message = (
            f"{topic!r} is not a topic name: it needs 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', "
            "and is neither '.' nor '..'."
        )
        raise TopicError(message)
    if not isinstance(partitions, int) or isinstance(partitions, bool) or partitions < 1:
        message = f"Topic {topic!r} cannot have {partitions!r} partitions; pass an integer of 1 or more."
        raise TopicError(message)


def _unknown_topic(topic: str, known: Iterable[str]) -> TopicError:
    names = list(known)
    return TopicError(
        f"Topic {topic!r} does not exist.{nearest(topic, names)} Known topics: {known_names(names)}. Create it first."
    )
