"""File system helpers of embedded topics: a lock, and errors that name the path."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace._files import full_disk
from headrace.errors import TopicError


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
