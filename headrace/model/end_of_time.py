"""The end of time, which is the highest timestamp: sums of times stop there instead of overflowing 64 bits."""

from __future__ import annotations

from typing import Final

END_OF_TIME_MS: Final = (1 << 63) - 1


def later(time_ms: int, duration_ms: int) -> int:
    """The time a duration after another, at most the end of time; a negative duration gives an earlier time.

    Example:
        >>> later(5, 10), later(END_OF_TIME_MS - 3, 10) == END_OF_TIME_MS
        (15, True)
    """
    return min(time_ms + duration_ms, END_OF_TIME_MS)
