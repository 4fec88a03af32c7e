"""File system helpers of embedded topics: a lock, and errors that name the path."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import TopicError


@contextmanager
def os_errors(doing: str, path: Path) -> Iterator[None]:
    """Turns an `OSError` into a `TopicError` that says what failed, and for which path."""
    try:
        yield
    except OSError as error:
        message = (
            f"Cannot {doing} {str(path)!r}: {error.strerror or error}. Check its permissions and the disk's free space."
        )
        raise TopicError(message) from error


@contextmanager
def file_lock(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Holds a lock across threads and processes; the operating system releases it if the process is killed."""
    with os_errors("lock", path):
        descriptor = os.open(path, (os.O_RDONLY if shared else os.O_RDWR) | os.O_CREAT, 0o666)
    try:
        with os_errors("lock", path):
            fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        try:
            yield
        finally:
            # Closing is not enough: a child forked meanwhile holds a copy of the descriptor, and the lock with it.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)
