"""The lock that shows whether an application runs: every run holds it shared, a reset holds it exclusively.

Runs do not exclude each other, because a newer start takes over from an older one. The operating system releases the
lock of a process that was killed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headrace._state.log.files import explain_errors
from headrace.errors import StateError

LOCK_FILE = "running.lock"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class RunLock:
    """The shared lock of one run. On a file system without locks an application runs without it."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / LOCK_FILE
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Acquires the lock, unless this run already holds it; waits until a reset that is in progress has ended."""
        while self._descriptor is None:
            # A reset may just have removed the directory.
            with suppress(FileNotFoundError), explain_errors("write", self._path):
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._descriptor = _lock_shared(self._path)

    def release(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                # Closing is not enough: a child forked meanwhile has a copy of the descriptor, which holds the lock.
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = None


@contextmanager
def exclusive_lock(application_id: str, state_dir: Path) -> Iterator[None]:
    """Prevents the application from starting while the block runs.

    Raises:
        StateError: if the application is running, or if it cannot be determined whether it is.
    """
    with explain_errors("write", state_dir / LOCK_FILE):
        descriptor = os.open(state_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _lock_exclusively(descriptor, application_id, state_dir)
        yield
    finally:
        os.close(descriptor)


def _lock_exclusively(descriptor: int, application_id: str, state_dir: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        message = (
            f"Application {application_id!r} is running on {str(state_dir)!r} ({os.read(descriptor, 200).decode()}). "
            "Stop it first."
        )
        raise StateError(message) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        message = (
            f"Cannot determine whether application {application_id!r} is running: the file system of "
            f"{str(state_dir)!r} has no locks ({error.strerror}). Make sure that it is stopped, then delete that "
            "directory yourself."
        )
        raise StateError(message) from error


def _lock_shared(path: Path) -> int | None:
    """Takes a shared lock on a file and returns its descriptor, which holds the lock until it is closed.

    Returns `None` if a reset has meanwhile removed or replaced the file.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            os.close(descriptor)
            raise
    if not path.exists() or not os.path.samestat(os.fstat(descriptor), path.stat()):
        os.close(descriptor)
        return None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"process {os.getpid()} on {platform.node()}".encode(), 0)
    return descriptor
