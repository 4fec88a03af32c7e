"""The durable log behind the embedded topics: partitioned, append-only, addressed by offset, in one directory.

`commits.log` alone defines what exists; data files are written before their commit and never changed after it. One
commit may create topics and add records to many partitions, atomically, and at most once for each (producer, batch).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._formats import TOPICS_APPENDED, TOPICS_UPKEEP
from headrace.errors import TopicError
from headrace.topics.embedded.commit_log.entries import TopicCommit, decode
from headrace.topics.embedded.commit_log.journal import NewGenerationError
from headrace.topics.embedded.extents import read_extents, read_timestamps
from headrace.topics.embedded.files import os_errors
from headrace.topics.embedded.log_state import LogState
from headrace.topics.embedded.segments import ORDER_SCHEMA, RECORD_SCHEMA, Extent, MissingSegmentError, SegmentRun
from headrace.topics.embedded.upkeep import Upkeep
from headrace.topics.embedded.writer import SegmentWriter
from headrace.topics.policy import UNLIMITED, TopicPolicy
from headrace.topics.records import offsets_of

__all__ = ["ORDER_SCHEMA", "RECORD_SCHEMA", "Extent", "SegmentRun", "SegmentWriter", "TopicLog"]


def _system_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class TopicLog(LogState):
    """The topics of one directory, as of the last `refresh`; the first use refreshes automatically.

    Any number of threads and processes may read and write one directory. Nothing is created before the first write.
    """

    def __init__(self, directory: str | os.PathLike[str], *, clock_ms: Callable[[], int] = _system_clock_ms) -> None:
        super().__init__(directory)
        self.upkeep = Upkeep(self, self.read)
        self._clock_ms = clock_ms

    def __repr__(self) -> str:
        return f"TopicLog({str(self.directory)!r})"

    def topics(self) -> dict[str, int]:
        """The number of partitions of every topic."""
        with self.mutex:
            return self.current().topics()

    def end_offsets(self, topic: str) -> list[int]:
        """The offset of the next record of each partition."""
        with self.mutex:
            return [partition.end for partition in self.current().partitions(topic)]

    def begin_offsets(self, topic: str) -> list[int]:
        """For each partition, the offset of the first record that is not deleted."""
        with self.mutex:
            return [partition.begin for partition in self.current().partitions(topic)]

    def policy(self, topic: str) -> TopicPolicy:
        """How long a topic keeps its records.

        Raises:
            TopicError: if there is no such topic.
        """
        with self.mutex:
            self.current().partitions(topic)
            return self.catalog.policy(topic)

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Reads the records at offsets `start` to `end`, exclusive, in batches of bounded size.

        If compaction has left gaps, the batches have a column `offset`.
        """
        return self.read_extents(self.extents(topic, partition, start, end), start, end)

    def timestamps(self, topic: str, partition: int, start: int, end: int) -> npt.NDArray[np.int64]:
        """Reads only the timestamps of the records at offsets `start` to `end`, exclusive, one for each offset.

        A gap has the timestamp of the record before it, or -1.
        """
        extents = self.extents(topic, partition, start, end)
        while True:
            try:
                return read_timestamps(self.segments, extents, start, end)
            except MissingSegmentError as missing:
                extents = self._look_up_again(extents, start, end, missing)

    def extents(self, topic: str, partition: int, start: int, end: int) -> list[Extent]:
        """Looks up where the records at offsets `start` to `end`, exclusive, are stored.

        With these extents, another process can read the records without reading the commit log.
        """
        with self.mutex:
            if end > self.current().partition(topic, partition).end:
                self.refresh()
            while True:
                try:
                    return self._extents(topic, partition, start, end)
                except NewGenerationError:
                    self.refresh()

    def _extents(self, topic: str, partition: int, start: int, end: int) -> list[Extent]:
        index = self.catalog.partition(topic, partition)
        if not 0 <= start <= end <= index.end:
            message = (
                f"Topic {topic!r}, partition {partition}: cannot read offsets from {start} up to {end}, because "
                f"the partition ends before offset {index.end}. Was the topics directory replaced?"
            )
            raise TopicError(message)
        if start < min(index.begin, end):
            message = (
                f"Topic {topic!r}, partition {partition}: the records at offsets {start} to "
                f"{min(index.begin, end) - 1} are deleted, by the retention of the topic; the first offset is "
                f"{index.begin}. An application that needs them was stopped or too slow for longer than the topic "
                "keeps records: continue without them by starting over with `headrace reset`, and give the topic "
                "more retention."
            )
            raise TopicError(message)
        parts = index.between(start, end)
        commits = map(decode, self.read_entries(part.position for part in parts))
        return [
            Extent(part.first, part.end, commit.runs_at(topic, partition, part.first))
            for part, commit in zip(parts, commits, strict=True)
        ]

    def read_extents(self, extents: Iterable[Extent], start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Reads the records at offsets `start` to `end`, exclusive, from extents that were looked up before.

        If their data files have been consolidated since, the remaining records are looked up again.
        """
        extents = list(extents)
        while True:
            try:
                for batch in read_extents(self.segments, extents, start, end):
                    yield batch
                    start = offsets_of(batch, start)[-1] + 1
            except MissingSegmentError as missing:
                extents = self._look_up_again(extents, start, end, missing)
            else:
                return

    def _look_up_again(self, extents: list[Extent], start: int, end: int, missing: MissingSegmentError) -> list[Extent]:
        """Looks up where the records are now, after a data file was missing.

        Raises:
            MissingSegmentError: `missing`, if the records are still in that file.
        """
        run = extents[0].runs[0]
        self.refresh()
        found = self.extents(run.topic, run.partition, start, end)
        if any(run.file == missing.file for extent in found for run in extent.runs):
            raise missing
        return found

    def create(self, topic: str, partitions: int, policy: TopicPolicy = UNLIMITED, *, exist_ok: bool = False) -> None:
        """Creates a topic. With `exist_ok`, it may already exist with the same number of partitions and policy."""
        with self.writing():
            missing = self.catalog.to_create({topic: partitions})
            if missing:
                policies = {} if policy == UNLIMITED else {topic: policy}
                self.append(
                    TopicCommit(TOPICS_UPKEEP if policies else TOPICS_APPENDED, create=missing, policies=policies)
                )
                return
            existing = self.catalog.policy(topic)
            if not exist_ok:
                message = (
                    f"Topic {topic!r} already exists, with {partitions} partitions; pass exist_ok=True, or "
                    "--if-not-exists, to keep it."
                )
                raise TopicError(message)
            if policy not in (UNLIMITED, existing):
                message = (
                    f"Topic {topic!r} already exists with {existing.describe()}, which cannot be changed to "
                    f"{policy.describe()}."
                )
                raise TopicError(message)

    def ensure(self, topic: str, partitions: int) -> int:
        """Creates a topic if it does not exist; returns how many partitions it has."""
        with self.writing():
            existing = self.catalog.topics().get(topic)
            if existing is None:
                self.append(TopicCommit(TOPICS_APPENDED, create=self.catalog.to_create({topic: partitions})))
            return existing or partitions

    def writer(self, producer: str = "", start: int = 0) -> SegmentWriter:
        """Opens a writer for a new data file. Its runs must be committed or discarded.

        With a `producer`, the file's name contains its name and the number of its `start`, because only the producer
        itself may delete uncommitted files (`Upkeep.sweep_producer`).
        """
        return SegmentWriter(self.segments, f"{producer}-{start}-" if producer else "")

    def commit(
        self,
        runs: Iterable[SegmentRun],
        *,
        producer: str | None = None,
        batch: int | None = None,
        create: Mapping[str, int] | None = None,
    ) -> bool:
        """Makes segment runs visible, and creates the topics in `create` that do not exist, atomically.

        Unless it only creates topics, it also deletes the records that the retention of any topic no longer keeps.

        Returns false if the producer has already committed this batch or a later one. Then the files of the runs are
        deleted.
        """
        runs = tuple(runs)
        if (producer is None) != (batch is None) or (batch is not None and batch < 0):
            message = f"A commit needs a producer and a batch of 0 or more, or neither; got {producer!r} and {batch!r}."
            raise TopicError(message)
        with self.writing():
            if producer is not None and batch is not None and self.catalog.has_committed(producer, batch):
                self.sync()
                self.remove_unread(run.file for run in runs)
                return False
            missing = self.catalog.to_create(create or {})
            self.catalog.check_runs(runs, missing)
            self._check_files(runs)
            # Creating topics deletes no records: a start that does so has just chosen its first offsets.
            begin = self.catalog.expired(self._clock_ms()) if runs or producer is not None else {}
            if runs or missing or producer is not None:
                self.append(
                    TopicCommit(
                        TOPICS_UPKEEP if begin else TOPICS_APPENDED, producer, batch, missing, runs, begin=begin
                    )
                )
        self.upkeep.keep_tidy()
        return True

    def last_batch(self, producer: str) -> int | None:
        """The newest batch that a producer has committed; `None` before its first."""
        with self.mutex:
            return self.current().last_batch(producer)

    def discard(self, runs: Iterable[SegmentRun]) -> None:
        """Deletes the data files of runs that are not committed; committed files stay."""
        with self.writing():
            self.remove_unread(run.file for run in runs)

    def _check_files(self, runs: Iterable[SegmentRun]) -> None:
        sizes: dict[str, int] = {}
        for run in runs:
            sizes[run.file] = max(sizes.get(run.file, 0), *(blob.offset + blob.length for blob in run.blobs))
        for file, size in sizes.items():
            path = self.segments / file
            with os_errors("commit the records in", path):
                actual_size = path.stat().st_size
            if actual_size < size:
                message = (
                    f"Cannot commit the records in {str(path)!r}: the file has {actual_size} of {size} bytes. "
                    "Write them again."
                )
                raise TopicError(message)
