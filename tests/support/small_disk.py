"""A real disk of a few megabytes, which a test can fill: a file system in memory, mounted in a directory."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager

import pytest

SIZE = 4 << 20
_FILLER = "filler"


@contextmanager
def small_disk(directory):
    """Mounts the disk in `directory`; skips the test if this process may not mount."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(directory)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("cannot mount a small file system: that needs Linux and root")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def fill(disk, *, leave=0):
    """Fills the disk, except for `leave` bytes."""
    with (disk / _FILLER).open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            file.truncate(max(0, file.tell() - leave))


def free(disk):
    """Frees the space that `fill` took."""
    (disk / _FILLER).unlink()
