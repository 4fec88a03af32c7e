"""The durable log behind the embedded topics: partitioned, append-only, addressed by offset, in one directory.

`commits.log` alone defines what exists; data files are written before their commit and never changed after it. One
commit may create topics and add records to many partitions, atomically, and at most once for each (producer, batch).
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.errors import TopicError
from headrace.topics.embedded.catalog import FORMAT, Catalog, TopicCommit, TopicCommitSummary
from headrace.topics.embedded.extents import read_extents, read_timestamps
from headrace.topics.embedded.files import os_errors
from headrace.topics.embedded.journal import Entries, Journal
from headrace.topics.embedded.segments import ORDER_SCHEMA, RECORD_SCHEMA, Extent, SegmentRun
from headrace.topics.embedded.writer import SegmentWriter

__all__ = ["ORDER_SCHEMA", "RECORD_SCHEMA", "Extent", "SegmentRun", "SegmentWriter", "TopicLog"]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(TopicCommit).decode
_decode_summary = msgspec.json.Decoder(TopicCommitSummary).decode


class TopicLog:
    """The topics of one directory, as of the last `refresh`; the first use refreshes automatically.

    Any number of threads and processes may read and write one directory. Nothing is created before the first write.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = _check_directory(directory)
        self._segments = self._directory / "segments"
        self._journal = Journal(self._directory)
        self._catalog = Catalog()
        self._is_loaded = False
        self._mutex = threading.RLock()

    def __repr__(self) -> str:
        return f"TopicLog({str(self._directory)!r})"

    def refresh(self) -> None:
        """Reads the commits since the last refresh."""
        with self._mutex:
            self._apply(*self._journal.read(self._catalog.position))

    def has_grown(self) -> bool:
        """Whether there may be commits since the last refresh."""
        return self._journal.size() != self._catalog.position

    def topics(self) -> dict[str, int]:
        """The number of partitions of every topic."""
        with self._mutex:
            return self._current().topics()

    def end_offsets(self, topic: str) -> list[int]:
        """The offset of the next record of each partition."""
        with self._mutex:
            return [partition.end for partition in self._current().partitions(topic)]

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Reads the records at offsets `start` to `end`, exclusive, in batches of bounded size."""
        return self.read_extents(self.extents(topic, partition, start, end), start, end)

    def timestamps(self, topic: str, partition: int, start: int, end: int) -> npt.NDArray[np.int64]:
        """Reads only the timestamps of the records at offsets `start` to `end`, exclusive."""
        return read_timestamps(self._segments, self.extents(topic, partition, start, end), start, end)

    def extents(self, topic: str, partition: int, start: int, end: int) -> list[Extent]:
        """Where the records of an offset range are stored: another process can read them without reading the log."""
        with self._mutex:
            if end > self._current().partition(topic, partition).end:
                self.refresh()
            index = self._catalog.partition(topic, partition)
            if not 0 <= start <= end <= index.end:
                message = (
                    f"Topic {topic!r}, partition {partition}: cannot read offsets from {start} up to {end}, because "
                    f"the partition ends before offset {index.end}. Was the topics directory replaced?"
                )
                raise TopicError(message)
            located = index.between(start, end)
            commits = map(_decode, self._journal.read_at(position for _, position in located))
            return [
                Extent(first, tuple(run for run in commit.runs if (run.topic, run.partition) == (topic, partition)))
                for (first, _), commit in zip(located, commits, strict=True)
            ]

    def read_extents(self, extents: Iterable[Extent], start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Reads records like `read`, from extents that were looked up before."""
        return read_extents(self._segments, extents, start, end)

    def create(self, topic: str, partitions: int, *, exist_ok: bool = False) -> None:
        """Creates a topic. With `exist_ok`, the topic may already exist with the same number of partitions."""
        with self._mutex, self._writing():
            missing = self._catalog.to_create({topic: partitions})
            if missing:
                self._append(TopicCommit(FORMAT, create=missing))
            elif not exist_ok:
                message = (
                    f"Topic {topic!r} already exists, with {partitions} partitions; pass exist_ok=True to keep it."
                )
                raise TopicError(message)

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
                self._remove_uncommitted(run.file for run in runs)
                return False
            missing = self._catalog.to_create(create or {})
            self._catalog.check_runs(runs, missing)
            self._check_files(runs)
            if runs or missing or producer is not None:
                self._append(TopicCommit(FORMAT, producer, batch, missing, runs))
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
            self._apply(*self._journal.recover(self._catalog.position))
            yield

    def _apply(self, entries: Entries, end: int) -> None:
        for position, payload in entries:
            self._catalog.position = position
            self._catalog.add(_summary(payload, self._directory), position)
        self._catalog.position = end
        self._is_loaded = True

    def _append(self, commit: TopicCommit) -> None:
        payload, position = _encode(commit), self._catalog.position
        self._apply([(position, payload)], self._journal.append(position, payload))

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


def _summary(payload: bytes, directory: Path) -> TopicCommitSummary:
    try:
        commit = _decode_summary(payload)
    except msgspec.MsgspecError as error:
        message = f"The topics in {str(directory)!r} contain a commit that this version cannot read: {error}"
        raise TopicError(message) from error
    if commit.format > FORMAT:
        message = (
            f"The topics in {str(directory)!r} were written by a newer version of Headrace, in format {commit.format}; "
            f"this one reads up to format {FORMAT}. Upgrade Headrace."
        )
        raise TopicError(message)
    return commit


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
