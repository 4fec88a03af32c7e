"""The wall clock of an application on Spark: read where batches are planned, and written down with their offsets."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from headrace._runtime.spark.files import put_whole

Clock = Callable[[], int]


def system_clock() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


class AlarmFile:
    """When the wall clock next has something to fire, as the last batch left it; a missing one rings never."""

    def __init__(self, state_dir: str) -> None:
        self._path = Path(state_dir) / "alarm.json"

    def set(self, due_ms: int | None) -> None:
        put_whole(self._path, msgspec.json.encode(due_ms))

    def rings(self, now_ms: int) -> bool:
        try:
            due_ms: int | None = msgspec.json.decode(self._path.read_bytes(), type=int | None)
        except FileNotFoundError:
            return False
        return due_ms is not None and due_ms <= now_ms
