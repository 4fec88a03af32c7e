"""The wall clock of an application. It is read when a batch is planned, and logged with the plan of the batch."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]


def system_clock() -> int:
    """The current time in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def fixed_clock(time_ms: int) -> Clock:
    """A clock that always shows the same time."""
    return lambda: time_ms
