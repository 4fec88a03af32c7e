"""The commit log of a topics directory: a file of checksummed lines, each one an atomic commit.

Readers follow it without a lock. A reader's position is always the end of a complete entry. After it come complete
entries, and then perhaps an unfinished one: a process is writing it, or died while it did. The next writer cuts off an
unfinished entry. A broken entry anywhere else means that the file is damaged.

A long log is replaced with a file of the next generation, which begins with a snapshot. The replaced file never changes
again. A reader notices the new generation when it opens the log the next time, and starts over with the snapshot.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from headrace._files import make_directory, sync_directory
from headrace.errors import TopicError
from headrace.topics.embedded.commit_log.framing import (
    HEADER,
    PREAMBLE_BYTES,
    UNFINISHED,
    frame,
    framed_length,
    payload_at,
    preamble_of,
    with_preamble,
)
from headrace.topics.embedded.files import (
    copy_permissions,
    file_lock,
    os_errors,
    repeat_if_stale,
    write_all,
)

_logger = logging.getLogger(__name__)

Entries: TypeAlias = list[tuple[int, bytes]]


class LogPosition(NamedTuple):
    """A byte offset in the log file of one generation, always at the end of an entry."""

    generation: int = 0
    offset: int = 0


class NewCommits(NamedTuple):
    """The entries after a position, each with its byte offset, and the position after the last one.

    If the log was replaced since, these are all entries of the new file: first those of its `snapshot`, without the
    preamble, then the `entries` after that. Otherwise `snapshot` is empty.
    """

    snapshot: Entries
    entries: Entries
    end: LogPosition


class NewGenerationError(TopicError):
    """The log was replaced with one of a newer generation; read it to get the new byte offsets of entries."""


class _LogFile(NamedTuple):
    """The log file when it was last opened. `identity` is its device and inode, `None` if there was no file."""

    generation: int = 0
    snapshot_end: int = 0
    identity: tuple[int, int] | None = None


class _Scan(NamedTuple):
    tail: NewCommits
    size: int
    damaged: bool


class Journal:
    """Reads, appends to and replaces one commit log."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "commits.log"
        self._lock_path = directory / "lock"
        self._file = _LogFile()
        self._synced_name: _LogFile | None = None

    @property
    def snapshot_end(self) -> int:
        """The byte offset at which the snapshot ended when the log was last read; 0 without a snapshot."""
        return self._file.snapshot_end

    def read(self, position: LogPosition) -> NewCommits:
        """Reads the entries after a position."""
        found = self._scan(position)
        if found.damaged:
            # While a writer replaces an unfinished entry, a reader can see parts of both. Under the lock it cannot.
            with file_lock(self._lock_path, shared=True):
                found = self._scan(position)
            self._refuse_damage(found)
        return found.tail

    def has_changed(self, position: LogPosition) -> bool:
        """Whether there may be entries after a position: the file has another size, or was replaced."""
        try:
            status = self._path.stat()
        except OSError:
            return position.offset != 0
        return (status.st_size, (status.st_dev, status.st_ino)) != (position.offset, self._file.identity)

    def read_at(self, generation: int, offsets: Iterable[int]) -> list[bytes]:
        """Reads the entries at byte offsets that `read` returned for this generation.

        Raises:
            NewGenerationError: if the log has been replaced since.
        """
        offsets = list(offsets)
        with os_errors("read", self._path):
            return repeat_if_stale(lambda: self._read_entries(generation, offsets))

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Waits for the lock that excludes other writers, in this and all other processes, and holds it.

        `recover`, `append` and `replace` require the lock. Call `recover` before the others, because another process
        may have added entries or replaced the file.
        """
        with os_errors("create the topics directory", self._directory):
            if not self._directory.is_dir():
                make_directory(self._directory)
        with file_lock(self._lock_path):
            yield

    def recover(self, position: LogPosition) -> NewCommits:
        """Reads the entries after a position, and cuts off an unfinished entry that a writer left when it died."""
        found = self._scan(position)
        self._refuse_damage(found)
        end = found.tail.end.offset
        if found.size > end:
            _logger.warning("Removing %d bytes of an unfinished commit from %s", found.size - end, self._path)
            with os_errors("repair", self._path):
                os.truncate(self._path, end)
        return found.tail

    def append(self, position: LogPosition, payload: bytes) -> LogPosition:
        """Appends one entry durably at `position`, the end of the log, and returns the new end."""
        data = frame(payload)
        with os_errors("append to", self._path, len(data)):
            descriptor = os.open(self._path, os.O_WRONLY | (0 if position.offset else os.O_CREAT), 0o666)
            try:
                self._check_current(descriptor)
                if position.offset == self.snapshot_end:
                    # A process that died may have created or replaced the file without syncing its name.
                    sync_directory(self._directory)
                write_all(descriptor, data, position.offset)
                # If this fails, the entry stays, because readers may have seen it: its outcome is unknown.
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        return position._replace(offset=position.offset + len(data))

    def sync(self) -> None:
        """Syncs the log to disk, because the process that wrote its last entries may have died before it did so.

        The first call also syncs the name of the file, and so does each call after the file was replaced.
        """
        with os_errors("sync", self._path):
            descriptor = os.open(self._path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
                file = _opened(descriptor)
            finally:
                os.close(descriptor)
            if file != self._synced_name:
                sync_directory(self._directory)
                self._synced_name = file

    def replace(self, position: LogPosition, snapshot: Iterable[bytes]) -> None:
        """Replaces the log, which ends at `position`, with a file that has only a snapshot; durably and atomically.

        The payloads of the snapshot must describe the same topics as the entries up to `position`.
        """
        data = with_preamble(position.generation + 1, snapshot)
        new = self._path.with_name("commits.log.new")
        with os_errors("replace", self._path, len(data)):
            new.unlink(missing_ok=True)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            try:
                write_all(descriptor, data, 0)
                copy_permissions(self._path, new)
                os.fsync(descriptor)
                new.replace(self._path)
            except OSError:
                new.unlink()
                raise
            finally:
                os.close(descriptor)
            sync_directory(self._directory)

    def _scan(self, position: LogPosition) -> _Scan:
        with os_errors("read", self._path):
            start, data = repeat_if_stale(lambda: self._bytes_from(position))
        found: Entries = []
        at = 0
        while (payload := payload_at(data, at)) is not None:
            found.append((start + at, payload))
            at += framed_length(payload)
        generation, snapshot_end, _ = self._file
        damaged = start + at < snapshot_end or (
            at < len(data)
            and any(payload_at(data, header.start()) is not None for header in HEADER.finditer(data, at + 1))
        )
        if start + at == 0 and not damaged and not UNFINISHED.match(data):
            # Some other program's file: it must not be truncated.
            raise self._foreign()
        snapshot = [entry for entry in found if 0 < entry[0] < snapshot_end]
        entries = [entry for entry in found if entry[0] >= snapshot_end]
        return _Scan(NewCommits(snapshot, entries, LogPosition(generation, start + at)), start + len(data), damaged)

    def _bytes_from(self, position: LogPosition) -> tuple[int, bytes]:
        """Reads the bytes after a position, or the whole file if its generation is newer. Returns their offset, too."""
        file = self._open(position.generation)
        if file is None:
            if position != LogPosition():
                raise self._replaced()
            self._file = _LogFile()
            return 0, b""
        with file:
            start = position.offset if self._file.generation == position.generation else 0
            if file.seek(0, os.SEEK_END) < start:
                raise self._replaced()
            file.seek(start)
            return start, file.read()

    def _read_entries(self, generation: int, offsets: Iterable[int]) -> list[bytes]:
        file = self._open(generation)
        if file is None:
            raise self._replaced()
        found = []
        with file:
            if self._file.generation != generation:
                message = f"{str(self._path)!r} is of generation {self._file.generation}, no longer {generation}."
                raise NewGenerationError(message)
            for offset in offsets:
                file.seek(offset)
                payload = payload_at(file.readline(), 0)
                if payload is None:
                    raise self._damaged(offset)
                found.append(payload)
        return found

    def _open(self, generation: int) -> BinaryIO | None:
        """Opens the log file; `None` if it does not exist.

        Raises:
            TopicError: if its generation is older than `generation`, or another file of its generation was opened
                before.
        """
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return None
        try:
            opened = _opened(file.fileno())
            self._refuse_other(opened, generation)
        except BaseException:
            file.close()
            raise
        self._file = opened
        return file

    def _refuse_other(self, opened: _LogFile, generation: int) -> None:
        known = self._file
        is_other = opened.generation == known.generation and known.identity not in (None, opened.identity)
        if is_other or opened.generation < generation:
            raise self._replaced()

    def _check_current(self, descriptor: int) -> None:
        """Refuses to append to a file that was replaced or deleted, which a network file system may still show."""
        status = os.fstat(descriptor)
        identity = (status.st_dev, status.st_ino)
        if self._file.identity not in (None, identity) or not status.st_nlink:
            raise self._replaced()
        self._file = self._file._replace(identity=identity)

    def _replaced(self) -> TopicError:
        return TopicError(
            f"{str(self._path)!r} was deleted, replaced or shortened while it was in use. "
            "Restore it, or open the topics directory again to read what it holds now."
        )

    def _foreign(self) -> TopicError:
        return TopicError(
            f"{str(self._path)!r} is not a commit log of topics. "
            "Restore it from a backup, or choose another topics directory; nothing was changed."
        )

    def _refuse_damage(self, found: _Scan) -> None:
        if found.damaged:
            raise self._damaged(found.tail.end.offset)

    def _damaged(self, position: int) -> TopicError:
        return TopicError(
            f"{str(self._path)!r} is damaged at byte {position}: the entry there has a wrong checksum, and is not the "
            "unfinished end of a write. Restore the file from a backup; nothing was changed."
        )


def _opened(descriptor: int) -> _LogFile:
    status = os.fstat(descriptor)
    return _LogFile(*preamble_of(os.pread(descriptor, PREAMBLE_BYTES, 0)), (status.st_dev, status.st_ino))
