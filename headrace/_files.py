"""File system calls that state and embedded topics need, and a description of a full disk."""

from __future__ import annotations

import errno
import os
from itertools import takewhile
from pathlib import Path


def sync_directory(path: Path) -> None:
    """Makes the names in a directory survive a power loss, as `fsync` does for a file's content."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(path: Path) -> None:
    """Creates a directory and its missing parents, so that they survive a power loss."""
    missing = list(takewhile(lambda directory: not directory.exists(), (path, *path.parents)))
    path.mkdir(parents=True, exist_ok=True)
    for directory in reversed(missing):
        sync_directory(directory.parent)


def full_disk(error: OSError, path: Path, needed: int | None = None) -> str | None:
    """Describes a full disk or quota, for an error message: which disk, how much is free, what to do.

    Returns `None` if the error has another cause.

    `needed` is the number of bytes that could not be written.
    """
    if error.errno == errno.ENOSPC:
        return f"the disk mounted at {_free_space(path, needed)}"
    if error.errno == errno.EDQUOT:
        return f"your quota on the disk mounted at {_free_space(path, needed)}"
    return None


def _free_space(path: Path, needed: int | None) -> str:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    disk = os.statvfs(path)
    while not path.is_mount():
        path = path.parent
    inodes = " It has no inodes left: delete files." if disk.f_files and not disk.f_favail else ""
    more = "" if needed is None else f", {needed:,} are needed"
    return (
        f"{str(path)!r} is full: {disk.f_bavail * disk.f_frsize:,} of {disk.f_blocks * disk.f_frsize:,} bytes are "
        f"free{more}.{inodes} Free space on it, or enlarge it"
    )
