"""`Window` and `Windowed`: a span of time, and a key within one."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from headrace.errors import StreamsError

K = TypeVar("K")


class Window(msgspec.Struct, frozen=True, order=True, gc=False):
    """A span of time in epoch milliseconds; windows order by start, then end.

    Whether the end belongs to the window depends on what made it: it does not for time windows, it does for sliding
    and session windows.

    Raises:
        StreamsError: for a negative start, or an end before the start.

    Example:
        >>> sorted([Window(10, 20), Window(0, 20), Window(0, 10)])[0]
        Window(start_ms=0, end_ms=10)
    """

    start_ms: int
    end_ms: int

    def __post_init__(self) -> None:
        if not 0 <= self.start_ms <= self.end_ms:
            message = (
                f"There is no window from {self.start_ms} to {self.end_ms}: "
                "a window starts at 0 or later and does not end before it starts."
            )
            raise StreamsError(message)

    def __str__(self) -> str:
        return f"{self.start_ms}/{self.end_ms}"


class Windowed(msgspec.Struct, Generic[K], frozen=True, order=True, gc=False):
    """A key within a window: the key of every windowed result. Ordered by key, then window.

    Example:
        >>> counted = Windowed("alice", Window(0, 300_000))
        >>> counted.key, counted.window.start_ms
        ('alice', 0)
        >>> print(counted)
        [alice@0/300000]
    """

    key: K
    window: Window

    def __str__(self) -> str:
        return f"[{self.key}@{self.window}]"
