"""The end of time: the highest timestamp, 2^63-1. Sums of times stop there instead of overflowing 64 bits."""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

Time = TypeVar("Time", int, npt.NDArray[np.int64])
"""One time, or an array of times."""

END_OF_TIME_MS: Final = (1 << 63) - 1


def later(time_ms: int, duration_ms: int) -> int:
    """Returns `time_ms + duration_ms`, at most the end of time. The duration may be negative.

    Example:
        >>> later(5, 10), later(END_OF_TIME_MS - 3, 10) == END_OF_TIME_MS
        (15, True)
    """
    return min(time_ms + duration_ms, END_OF_TIME_MS)
