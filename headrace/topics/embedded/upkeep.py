"""Upkeep of embedded topics: consolidates and compacts data files, shortens the commit log, deletes leftover files."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from pathlib import Path

from headrace._formats import TOPICS_UPKEEP
from headrace.errors import TopicError
from headrace.topics.embedded import snapshot
from headrace.topics.embedded.catalog import FAN_IN
from headrace.topics.embedded.commit_log.entries import TopicCommit, decode
from headrace.topics.embedded.consolidation import Read, compact, ranges_of, rewrite
from headrace.topics.embedded.files import file_lock, os_errors
from headrace.topics.embedded.log_state import LogState
from headrace.topics.embedded.partition_index import OffsetRange
from headrace.topics.embedded.writer import SegmentWriter

_logger = logging.getLogger(__name__)
# Names of data files with consolidated records. Uncommitted ones are deleted by the next process that consolidates.
_CONSOLIDATED = "consolidated."
# The commit log is shortened when it exceeds twice the size of its snapshot by this many bytes. That bounds the size of
# the log. It also keeps the bytes written for snapshots below the bytes written for commits.
_SHORTEN_AFTER_BYTES = 256 << 10


class Upkeep:
    """Keeps the number of data files and the size of the commit log bounded.

    Args:
        log: the log to keep in order.
        read: reads the records of an offset range.
    """

    def __init__(self, log: LogState, read: Read) -> None:
        self._log = log
        self._read = read
        self._postponed = 0

    def sweep(self, older_than_s: float) -> list[str]:
        """Deletes data files that are not read and are older than `older_than_s`; returns their names.

        Writers that died leave such files. The age must exceed the time from a writer's last write to its commit.
        Files of producers stay: a producer may still commit them.
        """
        limit = time.time() - older_than_s
        return self._sweep(lambda path: "-" not in path.name and _modification_time(path) <= limit)

    def sweep_producer(self, producer: str, start: int | None = None) -> list[str]:
        """Deletes unread data files of a producer; with `start`, only those of earlier starts. Returns their names."""

        def is_earlier(path: Path) -> bool:
            name, number, _ = (*path.name.rsplit("-", 2), "", "")[:3]
            return name == producer and number.isdigit() and (start is None or int(number) < start)

        return self._sweep(is_earlier)

    def consolidate(self) -> bool:
        """Rewrites the records of many small commits as one data file, if there are enough; returns whether it did.

        Otherwise compacts a partition whose topic asks for it, if at least half of its records are new. Deletes the
        data files that earlier calls have superseded. Other processes may read and write meanwhile; if another one
        consolidates, this call does nothing.
        """
        with file_lock(self._log.directory / "consolidate.lock", blocking=False) as is_locked:
            if not is_locked:
                return False
            with self._log.writing():
                self._delete_superseded()
                level, positions = self._log.catalog.small_commits()
                ranges = self._ranges(positions)
                compacted = None if positions else self._log.catalog.uncompacted()
            if compacted is not None:
                return self._compact(compacted)
            if not positions:
                return False
            with SegmentWriter(self._log.segments, _CONSOLIDATED) as writer:
                runs = rewrite(ranges, self._read, writer)
            with self._log.writing():
                if self._ranges(positions) != ranges:
                    self._log.remove_unread(moved.run.file for moved in runs)
                    return False
                self._log.append(TopicCommit(TOPICS_UPKEEP, consolidated=runs, level=level + 1))
            return True

    def _compact(self, records: OffsetRange) -> bool:
        with SegmentWriter(self._log.segments, _CONSOLIDATED) as writer:
            run = compact(records, self._read, writer)
        with self._log.writing():
            if self._log.catalog.partition(records.topic, records.partition).begin != records.first:
                self._log.remove_unread([run.run.file])
                return False
            self._log.append(TopicCommit(TOPICS_UPKEEP, consolidated=(run,), level=1, compacts=True))
        return True

    def shorten(self) -> bool:
        """Replaces the commit log with a snapshot of its contents; returns whether it did.

        Other processes may read and write meanwhile; if another one consolidates or shortens, this call does nothing.
        """
        with file_lock(self._log.directory / "consolidate.lock", blocking=False) as is_locked:
            if not is_locked:
                return False
            with self._log.writing():
                self._delete_superseded()
                self._log.journal.replace(
                    self._log.catalog.position, snapshot.take(self._log.catalog, self._log.read_entries)
                )
                self._log.recover()
            return True

    def keep_tidy(self) -> None:
        """Consolidates data files and shortens the commit log, if there is enough to do. Called after each commit."""
        self._postponed = max(0, self._postponed - 1)
        if self._postponed:
            return
        if self._log.catalog.needs_upkeep:
            self._try(self.consolidate, "consolidate small data files")
        if self._log.catalog.position.offset > 2 * self._log.journal.snapshot_end + _SHORTEN_AFTER_BYTES:
            self._try(self.shorten, "shorten the commit log")

    def _try(self, upkeep: Callable[[], bool], doing: str) -> None:
        """Runs a step of upkeep. The commit before it has succeeded, so a failure is only logged, and retried later."""
        try:
            upkeep()
        except TopicError as error:
            self._postponed = FAN_IN
            _logger.warning("Cannot %s; trying again after some commits. %s", doing, error)

    def _ranges(self, positions: list[int]) -> list[OffsetRange]:
        commits = map(decode, self._log.read_entries(positions)) if positions else ()
        return ranges_of(self._log.catalog, zip(positions, commits, strict=True))

    def _delete_superseded(self) -> None:
        """Deletes superseded data files, and those of a process that died before it committed consolidated records."""
        if not self._log.segments.exists():
            return
        with os_errors("list", self._log.segments):
            names = {path.name for path in self._log.segments.iterdir()}
        abandoned = {name for name in names if name.startswith(_CONSOLIDATED)} - self._log.catalog.files
        superseded = names & self._log.catalog.superseded
        if superseded:
            self._log.sync()
        for name in superseded | abandoned:
            with os_errors("remove", self._log.segments / name):
                (self._log.segments / name).unlink(missing_ok=True)
        self._log.catalog.superseded.clear()

    def _sweep(self, matches: Callable[[Path], bool]) -> list[str]:
        if not self._log.segments.exists():
            return []
        with self._log.writing(), os_errors("sweep", self._log.segments):
            return self._log.remove_unread([path.name for path in self._log.segments.glob("*.arrow") if matches(path)])


def _modification_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return math.inf
