"""The wall clock of an application: read where batches are planned, and written down with their offsets."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]


def system_clock() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000
