"""The commit log of a topics directory: a file of checksummed lines, each one an atomic commit.

Readers follow it without a lock. A reader's position is always the end of a complete entry. After it come complete
entries, and then perhaps an unfinished one: a write under way, or one of a process that died, which the next writer
truncates. A broken entry anywhere else means that the file is damaged.
"""

from __future__ import annotations

import logging
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from headrace._files import sync_directory
from headrace.errors import TopicError
from headrace.topics.embedded.files import file_lock, os_errors

_logger = logging.getLogger(__name__)
_HEADER = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8}) (?=\{)")
# What a crash can leave of an entry: a prefix of it, or zeros where its blocks were never written.
_UNFINISHED = re.compile(rb"[0-9a-f]{0,8}(\0|\Z| [0-9a-f]{0,8}(\0|\Z| (\0|\Z|\{)))")

Entries: TypeAlias = list[tuple[int, bytes]]


class _Tail(NamedTuple):
    entries: Entries
    end: int
    size: int
    damaged: bool


class Journal:
    """Reads and appends entries of one commit log. A position is a number of bytes, always at the end of an entry."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "commits.log"
        self._lock_path = directory / "lock"
        self._identity: tuple[int, int] | None = None

    def read(self, position: int) -> tuple[Entries, int]:
        """The entries after a position, each with its own position, and the position after the last one."""
        tail = self._scan(position)
        if tail.damaged:
            # While a writer replaces an unfinished entry, a reader can see parts of both. Under the lock it cannot.
            with file_lock(self._lock_path, shared=True):
                tail = self._scan(position)
            self._refuse_damage(tail)
        return tail.entries, tail.end

    def size(self) -> int:
        """The size of the log in bytes, including an unfinished entry."""
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def read_at(self, positions: Iterable[int]) -> Iterator[bytes]:
        """The entries at positions returned by `read`."""
        file = self._open()
        if file is None:
            raise self._replaced()
        with os_errors("read", self._path), file:
            for position in positions:
                file.seek(position)
                payload = _payload_at(file.readline(), 0)
                if payload is None:
                    raise self._damaged(position)
                yield payload

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Waits for and holds the lock that excludes writers in all processes; `recover` and `append` require it."""
        with os_errors("create the topics directory", self._directory):
            self._directory.mkdir(parents=True, exist_ok=True)
        with file_lock(self._lock_path):
            yield

    def recover(self, position: int) -> tuple[Entries, int]:
        """Reads like `read`, and truncates an unfinished entry left by a writer that died."""
        tail = self._scan(position)
        self._refuse_damage(tail)
        if tail.size > tail.end:
            _logger.warning("Removing %d bytes of an unfinished commit from %s", tail.size - tail.end, self._path)
            with os_errors("repair", self._path):
                os.truncate(self._path, tail.end)
        return tail.entries, tail.end

    def append(self, position: int, payload: bytes) -> int:
        """Appends one entry durably at `position`, the end of the log, and returns the new end."""
        data = b"%08x %08x %b\n" % (len(payload), zlib.crc32(payload), payload)
        with os_errors("append to", self._path, len(data)):
            descriptor = os.open(self._path, os.O_WRONLY | (0 if position else os.O_CREAT), 0o666)
            try:
                self._identity = _identity(descriptor)
                _write_all(descriptor, data, position)
                # If this fails, the entry stays, because readers may have seen it: its outcome is unknown.
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            if position == 0:
                sync_directory(self._directory)
        return position + len(data)

    def _scan(self, position: int) -> _Tail:
        data = self._bytes_from(position)
        entries: Entries = []
        at = 0
        while (payload := _payload_at(data, at)) is not None:
            entries.append((position + at, payload))
            at += _framed_length(payload)
        damaged = at < len(data) and any(
            _payload_at(data, header.start()) is not None for header in _HEADER.finditer(data, at + 1)
        )
        if position + at == 0 and not damaged and not _UNFINISHED.match(data):
            # Some other program's file: it must not be truncated.
            raise self._foreign()
        return _Tail(entries, position + at, position + len(data), damaged)

    def _bytes_from(self, position: int) -> bytes:
        file = self._open()
        if file is None:
            if position:
                raise self._replaced()
            return b""
        with os_errors("read", self._path), file:
            if file.seek(0, os.SEEK_END) < position:
                raise self._replaced()
            file.seek(position)
            return file.read()

    def _open(self) -> BinaryIO | None:
        """Opens the file; `None` if it does not exist, an error if it is not the one that was read before."""
        with os_errors("read", self._path):
            try:
                file = self._path.open("rb")
            except FileNotFoundError:
                return None
        identity = _identity(file.fileno())
        if self._identity not in (None, identity):
            file.close()
            raise self._replaced()
        self._identity = identity
        return file

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

    def _refuse_damage(self, tail: _Tail) -> None:
        if tail.damaged:
            raise self._damaged(tail.end)

    def _damaged(self, position: int) -> TopicError:
        return TopicError(
            f"{str(self._path)!r} is damaged at byte {position}: the entry there has a wrong checksum, and is not the "
            "unfinished end of a write. Restore the file from a backup; nothing was changed."
        )


def _payload_at(data: bytes, position: int) -> bytes | None:
    """The payload of the entry that starts here; `None` if there is no complete entry."""
    header = _HEADER.match(data, position)
    if header is None:
        return None
    start, length = header.end(), int(header[1], 16)
    payload = data[start : start + length]
    ended = data[start + length : start + length + 1] == b"\n"
    return payload if ended and zlib.crc32(payload) == int(header[2], 16) else None


def _framed_length(payload: bytes) -> int:
    return len(b"00000000 00000000 ") + len(payload) + len(b"\n")


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _write_all(descriptor: int, data: bytes, position: int) -> None:
    try:
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], position + written)
    except OSError:
        os.ftruncate(descriptor, position)
        raise
