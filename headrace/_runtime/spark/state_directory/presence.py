"""Whether an application runs: whoever runs it has a share in a lock of its state directory.

Starts do not keep each other out: a newer one takes over from an older. What must meet none of them takes the lock
whole. A process that was killed lets go of it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headrace.errors import StateError

LOCK_FILE = "running.lock"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class Presence:
    """The share that one run has. A file system without locks keeps nobody from running."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / LOCK_FILE
        self._descriptor: int | None = None

    def enter(self) -> None:
        """Waits for a reset that is under way; a run that is there already stays."""
        while self._descriptor is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # a reset has just removed the directory
                self._descriptor = _shared(self._path)

    def leave(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                # Closing is not enough: a child forked meanwhile holds a copy of the descriptor, and the lock with it.
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = None


@contextmanager
def nobody_runs(application_id: str, state_dir: Path) -> Iterator[None]:
    """Keeps the application from starting for as long as it takes.

    Raises:
        StateError: if it runs, or if that cannot be told.
    """
    descriptor = os.open(state_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _take_whole(descriptor, application_id, state_dir)
        yield
    finally:
        os.close(descriptor)


def _take_whole(descriptor: int, application_id: str, state_dir: Path) -> None:
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
            f"Whether application {application_id!r} is running cannot be told: the file system of {str(state_dir)!r} "
            f"has no locks ({error.strerror}). Make sure that it is stopped, and delete that directory yourself."
        )
        raise StateError(message) from error


def _shared(path: Path) -> int | None:
    """A descriptor that holds a share of the lock; `None` if the file is no longer the one at the path."""
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
