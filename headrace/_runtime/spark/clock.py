"""The wall clock of an application on Spark: read where batches are planned, and written down with their offsets."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

Clock = Callable[[], int]


def system_clock() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


class AlarmFile:
    """When the wall clock next has something to fire, as the last batch left it; a missing one rings never."""

    def __init__(self, state_dir: str) -> None:
        self._path = Path(state_dir) / "alarm.json"

    def set(self, due_ms: int | None) -> None:
        replacement = self._path.with_suffix(f".{os.getpid()}.new")
        replacement.write_bytes(msgspec.json.encode(due_ms))
        replacement.replace(self._path)

    def rings(self, now_ms: int) -> bool:
        try:
            due_ms: int | None = msgspec.json.decode(self._path.read_bytes(), type=int | None)
        except FileNotFoundError:
            return False
        return due_ms is not None and due_ms <= now_ms
