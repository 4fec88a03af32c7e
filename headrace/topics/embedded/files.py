"""File system helpers of embedded topics: a lock, errors that name the path, files that are replaced."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from headrace._files import full_disk
from headrace.errors import TopicError

_T = TypeVar("_T")
_STALE_ATTEMPTS = 3


@contextmanager
def os_errors(doing: str, path: Path, needed: int | None = None) -> Iterator[None]:
    """Turns an `OSError` into a `TopicError` that says what failed, and for which path.

    `needed` is the number of bytes to write, which the error for a full disk reports.
    """
    try:
        yield
    except OSError as error:
        full = full_disk(error, path, needed)
        advice = f"{full}, then repeat the call" if full else f"{error.strerror or error}. Check its permissions"
        message = f"Cannot {doing} {str(path)!r}: {advice}."
        raise TopicError(message) from error


def repeat_if_stale(read: Callable[[], _T]) -> _T:
    """Repeats a read that failed because another machine replaced the file: a network file system reports that."""
    for _ in range(_STALE_ATTEMPTS - 1):
        try:
            return read()
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
    return read()


@contextmanager
def file_lock(path: Path, *, shared: bool = False, blocking: bool = True) -> Iterator[bool]:
    """Holds a lock across threads and processes; the operating system releases it if the process is killed.

    Without `blocking`, yields false if another holds the lock.
    """
    with os_errors("lock", path):
        descriptor = os.open(path, (os.O_RDONLY if shared else os.O_RDWR) | os.O_CREAT, 0o666)
    try:
        is_locked = _lock(descriptor, path, shared=shared, blocking=blocking)
        try:
            yield is_locked
        finally:
            # Closing is not enough: a child forked meanwhile holds a copy of the descriptor, and the lock with it.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path, *, shared: bool, blocking: bool) -> bool:
    mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    with os_errors("lock", path):
        try:
            fcntl.flock(descriptor, mode if blocking else mode | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def write_all(descriptor: int, data: bytes, position: int) -> None:
    """Writes bytes at `position`, the end of the file. If that fails, truncates the file to its former end."""
    try:
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], position + written)
    except OSError:
        os.ftruncate(descriptor, position)
        raise


def copy_permissions(old: Path, new: Path) -> None:
    """Gives the new file the mode of the old one and, if permitted, its group and owner."""
    shutil.copymode(old, new)
    status = old.stat()
    with suppress(PermissionError):
        os.chown(new, -1, status.st_gid)
        os.chown(new, status.st_uid, -1)
