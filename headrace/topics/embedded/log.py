"""The durable log behind the embedded topics: partitioned, append-only, addressed by offset, in one directory.

`commits.log` alone defines what exists; data files are written before their commit and never changed after it. One
commit may create topics and add records to many partitions, atomically, and at most once for each (producer, batch).
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._files import make_directory
from headrace._formats import TOPICS_APPENDED, TOPICS_UPKEEP
from headrace.errors import TopicError
from headrace.topics.embedded import snapshot
from headrace.topics.embedded.catalog import FAN_IN, Catalog
from headrace.topics.embedded.consolidation import compact, ranges_of, rewrite
from headrace.topics.embedded.entries import TopicCommit, decode, decode_summary, encode
from headrace.topics.embedded.extents import read_extents, read_timestamps
from headrace.topics.embedded.files import file_lock, os_errors
from headrace.topics.embedded.journal import Journal, NewGenerationError, Position, Tail
from headrace.topics.embedded.partition_index import OffsetRange
from headrace.topics.embedded.segments import ORDER_SCHEMA, RECORD_SCHEMA, Extent, MissingSegmentError, SegmentRun
from headrace.topics.embedded.writer import SegmentWriter
from headrace.topics.policy import UNLIMITED, TopicPolicy
from headrace.topics.records import offsets_of

__all__ = ["ORDER_SCHEMA", "RECORD_SCHEMA", "Extent", "SegmentRun", "SegmentWriter", "TopicLog"]

_logger = logging.getLogger(__name__)
# Names of data files with consolidated records. Uncommitted ones are deleted by the next process that consolidates.
_CONSOLIDATED = "consolidated."
# The commit log is shortened when it exceeds twice the size of its snapshot by this many bytes. That bounds its size,
# and the bytes of snapshots by those of commits.
_SHORTEN_AFTER_BYTES = 256 << 10


def _system_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class TopicLog:
    """The topics of one directory, as of the last `refresh`; the first use refreshes automatically.

    Any number of threads and processes may read and write one directory. Nothing is created before the first write.
    """

    def __init__(self, directory: str | os.PathLike[str], *, clock_ms: Callable[[], int] = _system_clock_ms) -> None:
        self._clock_ms = clock_ms
        self._directory = _check_directory(directory)
        self._segments = self._directory / "segments"
        self._journal = Journal(self._directory)
        self._catalog = Catalog()
        self._is_loaded = False
        self._mutex = threading.RLock()
        self._postponed = 0

    def __repr__(self) -> str:
        return f"TopicLog({str(self._directory)!r})"

    def refresh(self) -> None:
        """Reads the commits since the last refresh."""
        with self._mutex:
            self._apply(self._journal.read(self._catalog.position))

    def has_grown(self) -> bool:
        """Whether there may be commits since the last refresh."""
        return self._journal.has_changed(self._catalog.position)

    def topics(self) -> dict[str, int]:
        """The number of partitions of every topic."""
        with self._mutex:
            return self._current().topics()

    def end_offsets(self, topic: str) -> list[int]:
        """The offset of the next record of each partition."""
        with self._mutex:
            return [partition.end for partition in self._current().partitions(topic)]

    def begin_offsets(self, topic: str) -> list[int]:
        """The offset of the first record of each partition that is not deleted."""
        with self._mutex:
            return [partition.begin for partition in self._current().partitions(topic)]

    def policy(self, topic: str) -> TopicPolicy:
        """How long a topic keeps its records."""
        with self._mutex:
            self._current().partitions(topic)
            return self._catalog.policy(topic)

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
                return read_timestamps(self._segments, extents, start, end)
            except MissingSegmentError as missing:
                extents = self._look_up_again(extents, start, end, missing)

    def extents(self, topic: str, partition: int, start: int, end: int) -> list[Extent]:
        """Where the records of an offset range are stored: another process can read them without reading the log."""
        with self._mutex:
            if end > self._current().partition(topic, partition).end:
                self.refresh()
            while True:
                try:
                    return self._extents(topic, partition, start, end)
                except NewGenerationError:
                    self.refresh()

    def _extents(self, topic: str, partition: int, start: int, end: int) -> list[Extent]:
        index = self._catalog.partition(topic, partition)
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
        commits = map(decode, self._read_entries(part.position for part in parts))
        return [
            Extent(part.first, part.end, commit.runs_at(topic, partition, part.first))
            for part, commit in zip(parts, commits, strict=True)
        ]

    def read_extents(self, extents: Iterable[Extent], start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Reads records like `read`, from extents that were looked up before.

        If they have been consolidated since, the rest of them is looked up again.
        """
        extents = list(extents)
        while True:
            try:
                for batch in read_extents(self._segments, extents, start, end):
                    yield batch
                    start = offsets_of(batch, start)[-1] + 1
            except MissingSegmentError as missing:
                extents = self._look_up_again(extents, start, end, missing)
            else:
                return

    def _look_up_again(self, extents: list[Extent], start: int, end: int, missing: MissingSegmentError) -> list[Extent]:
        """Where the records of extents are now; raises the error if they are still where they were."""
        run = extents[0].runs[0]
        self.refresh()
        found = self.extents(run.topic, run.partition, start, end)
        if any(run.file == missing.file for extent in found for run in extent.runs):
            raise missing
        return found

    def create(self, topic: str, partitions: int, policy: TopicPolicy = UNLIMITED, *, exist_ok: bool = False) -> None:
        """Creates a topic. With `exist_ok`, it may already exist with the same number of partitions and policy."""
        with self._mutex, self._writing():
            missing = self._catalog.to_create({topic: partitions})
            if missing:
                policies = {} if policy == UNLIMITED else {topic: policy}
                self._append(
                    TopicCommit(TOPICS_UPKEEP if policies else TOPICS_APPENDED, create=missing, policies=policies)
                )
                return
            existing = self._catalog.policy(topic)
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
        with self._mutex, self._writing():
            existing = self._catalog.topics().get(topic)
            if existing is None:
                self._append(TopicCommit(TOPICS_APPENDED, create=self._catalog.to_create({topic: partitions})))
            return existing or partitions

    def writer(self, producer: str = "", start: int = 0) -> SegmentWriter:
        """Opens a writer for a new data file. Its runs must be committed or discarded.

        The file's name contains the producer and the number of its start, because only the producer itself may sweep
        its files (`sweep_producer`).
        """
        return SegmentWriter(self._segments, f"{producer}-{start}-" if producer else "")

    def commit(
        self,
        runs: Iterable[SegmentRun],
        *,
        producer: str | None = None,
        batch: int | None = None,
        create: Mapping[str, int] | None = None,
    ) -> bool:
        """Makes runs visible and creates the missing topics of `create`, atomically.

        Returns False if the producer has committed this batch before: then the runs are deleted.
        """
        runs = tuple(runs)
        if (producer is None) != (batch is None) or (batch is not None and batch < 0):
            message = f"A commit needs a producer and a batch of 0 or more, or neither; got {producer!r} and {batch!r}."
            raise TopicError(message)
        with self._mutex, self._writing():
            if producer is not None and batch is not None and self._catalog.has_committed(producer, batch):
                self._journal.sync()
                self._remove_uncommitted(run.file for run in runs)
                return False
            missing = self._catalog.to_create(create or {})
            self._catalog.check_runs(runs, missing)
            self._check_files(runs)
            begin = self._catalog.expired(self._clock_ms())
            if runs or missing or producer is not None or begin:
                self._append(
                    TopicCommit(
                        TOPICS_UPKEEP if begin else TOPICS_APPENDED, producer, batch, missing, runs, begin=begin
                    )
                )
        self._keep_tidy()
        return True

    def last_batch(self, producer: str) -> int | None:
        """The newest batch that a producer has committed; `None` before its first."""
        with self._mutex:
            return self._current().last_batch(producer)

    def discard(self, runs: Iterable[SegmentRun]) -> None:
        """Deletes the data of uncommitted runs; committed data stays."""
        with self._mutex, self._writing():
            self._remove_uncommitted(run.file for run in runs)

    def sweep(self, older_than_s: float) -> list[str]:
        """Deletes data files that no commit refers to and that are older than `older_than_s`; returns their names.

        Writers that died leave such files. The age must exceed the time from a writer's last write to its commit.
        Files of producers stay: a producer may still commit them.
        """
        limit = time.time() - older_than_s
        return self._sweep(lambda path: "-" not in path.name and _modification_time(path) <= limit)

    def sweep_producer(self, producer: str, start: int) -> list[str]:
        """Deletes the data files of a producer's earlier starts that no commit refers to; returns their names."""

        def is_earlier(path: Path) -> bool:
            name, number, _ = (*path.name.rsplit("-", 2), "", "")[:3]
            return name == producer and number.isdigit() and int(number) < start

        return self._sweep(is_earlier)

    def consolidate(self) -> bool:
        """Rewrites the records of many small commits as one data file, if there are enough; returns whether it did.

        Otherwise compacts a partition whose topic asks for it, if at least half of its records are new. Deletes the
        data files that earlier calls have superseded. Other processes may read and write meanwhile; if another one
        consolidates, this call does nothing.
        """
        with file_lock(self._directory / "consolidate.lock", blocking=False) as is_locked:
            if not is_locked:
                return False
            with self._mutex, self._writing():
                self._delete_superseded()
                level, positions = self._catalog.small_commits()
                ranges = self._ranges(positions)
                compacted = None if positions else self._catalog.uncompacted()
            if compacted is not None:
                return self._compact(compacted)
            if not positions:
                return False
            with SegmentWriter(self._segments, _CONSOLIDATED) as writer:
                runs = rewrite(ranges, self.read, writer)
            with self._mutex, self._writing():
                if self._ranges(positions) != ranges:
                    self._remove_uncommitted(moved.run.file for moved in runs)
                    return False
                self._append(TopicCommit(TOPICS_UPKEEP, consolidated=runs, level=level + 1))
            return True

    def _compact(self, records: OffsetRange) -> bool:
        with SegmentWriter(self._segments, _CONSOLIDATED) as writer:
            run = compact(records, self.read, writer)
        with self._mutex, self._writing():
            if self._catalog.partition(records.topic, records.partition).begin != records.first:
                self._remove_uncommitted([run.run.file])
                return False
            self._append(TopicCommit(TOPICS_UPKEEP, consolidated=(run,), level=1, compacts=True))
        return True

    def shorten(self) -> bool:
        """Replaces the commit log by a snapshot of what it says; returns whether it did.

        Other processes may read and write meanwhile; if another one consolidates or shortens, this call does nothing.
        """
        with file_lock(self._directory / "consolidate.lock", blocking=False) as is_locked:
            if not is_locked:
                return False
            with self._mutex, self._writing():
                self._delete_superseded()
                self._journal.replace(self._catalog.position, snapshot.take(self._catalog, self._read_entries))
                self._apply(self._journal.recover(self._catalog.position))
            return True

    def _keep_tidy(self) -> None:
        """Consolidates and shortens after a commit if it is time."""
        self._postponed = max(0, self._postponed - 1)
        if self._postponed:
            return
        if self._catalog.needs_upkeep:
            self._try(self.consolidate, "consolidate small data files")
        if self._catalog.position.offset > 2 * self._journal.snapshot_end + _SHORTEN_AFTER_BYTES:
            self._try(self.shorten, "shorten the commit log")

    def _try(self, upkeep: Callable[[], bool], doing: str) -> None:
        """Runs a step of upkeep after a commit. The commit is done, so a failure is no error of the caller."""
        try:
            upkeep()
        except TopicError as error:
            self._postponed = FAN_IN
            _logger.warning("Cannot %s; trying again after some commits. %s", doing, error)

    def _ranges(self, positions: list[int]) -> list[OffsetRange]:
        commits = map(decode, self._read_entries(positions)) if positions else ()
        return ranges_of(self._catalog, zip(positions, commits, strict=True))

    def _delete_superseded(self) -> None:
        """Deletes superseded data files, and those of a process that died before it committed consolidated records."""
        if not self._segments.exists():
            return
        with os_errors("list", self._segments):
            names = {path.name for path in self._segments.iterdir()}
        abandoned = {name for name in names if name.startswith(_CONSOLIDATED)} - self._catalog.files
        superseded = names & self._catalog.superseded
        if superseded:
            self._journal.sync()
        for name in superseded | abandoned:
            with os_errors("remove", self._segments / name):
                (self._segments / name).unlink(missing_ok=True)
        self._catalog.superseded.clear()

    def _sweep(self, matches: Callable[[Path], bool]) -> list[str]:
        if not self._segments.exists():
            return []
        with self._mutex, self._writing(), os_errors("sweep", self._segments):
            return self._remove_uncommitted([path.name for path in self._segments.glob("*.arrow") if matches(path)])

    def _current(self) -> Catalog:
        if not self._is_loaded:
            self.refresh()
        return self._catalog

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._journal.exclusive():
            self._apply(self._journal.recover(self._catalog.position))
            yield

    def _apply(self, tail: Tail) -> None:
        generation = tail.end.generation
        if generation != self._catalog.position.generation:
            self._catalog = snapshot.restore(tail.snapshot, self._directory)
        for offset, payload in tail.entries:
            self._catalog.position = Position(generation, offset)
            self._catalog.add(decode_summary(payload, self._directory), offset)
        self._catalog.position = tail.end
        self._is_loaded = True

    def _append(self, commit: TopicCommit) -> None:
        payload, position = encode(commit), self._catalog.position
        if not position.offset:
            # The first append syncs the names in the topics directory.
            with os_errors("create", self._segments):
                make_directory(self._segments)
        self._apply(Tail([], [(position.offset, payload)], self._journal.append(position, payload)))

    def _read_entries(self, offsets: Iterable[int]) -> list[bytes]:
        return self._journal.read_at(self._catalog.position.generation, offsets)

    def _check_files(self, runs: Iterable[SegmentRun]) -> None:
        sizes: dict[str, int] = {}
        for run in runs:
            sizes[run.file] = max(sizes.get(run.file, 0), *(blob.offset + blob.length for blob in run.blobs))
        for file, size in sizes.items():
            path = self._segments / file
            with os_errors("commit the records in", path):
                actual_size = path.stat().st_size
            if actual_size < size:
                message = (
                    f"Cannot commit the records in {str(path)!r}: the file has {actual_size} of {size} bytes. "
                    "Write them again."
                )
                raise TopicError(message)

    def _remove_uncommitted(self, files: Iterable[str]) -> list[str]:
        """Deletes files, but never committed ones: a caller may repeat a commit whose outcome it does not know."""
        removed = sorted(set(files) - self._catalog.files)
        for file in removed:
            with os_errors("remove", self._segments / file):
                (self._segments / file).unlink(missing_ok=True)
        return removed


def _check_directory(directory: str | os.PathLike[str]) -> Path:
    path = Path(directory).absolute()
    if "://" in os.fspath(directory):
        message = f"{os.fspath(directory)!r} is not a local directory; embedded topics need one."
        raise TopicError(message)
    if path.exists() and not path.is_dir():
        message = f"{str(path)!r} is a file, not a topics directory; pass a directory, which need not exist yet."
        raise TopicError(message)
    return path


def _modification_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return math.inf
