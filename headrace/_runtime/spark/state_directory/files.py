"""Small files in the state directory that other processes may read at any moment."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Replaces a file atomically: readers see the old or the new content, never a part."""
    replacement = path.with_suffix(f".{os.getpid()}.new")
    replacement.write_bytes(data)
    replacement.replace(path)
