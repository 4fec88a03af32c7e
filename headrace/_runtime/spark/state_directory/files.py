"""Small files in the state directory that others read at any moment."""

from __future__ import annotations

import os
from pathlib import Path


def put_whole(path: Path, data: bytes) -> None:
    """Replaces a file in one step: readers see what it was or what it becomes, never half of it."""
    replacement = path.with_suffix(f".{os.getpid()}.new")
    replacement.write_bytes(data)
    replacement.replace(path)
