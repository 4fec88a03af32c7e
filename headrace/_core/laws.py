"""Rules that several operators share, each written once.

Times are from 0 to `END_OF_TIME_MS`, or -1 before the first record. Durations come from `timedelta`, so the sum of a
few is far below 2^63: adding it to a time can overflow, subtracting it cannot.
"""

from __future__ import annotations

import numpy as np

from headrace._core.task.order import Ints
from headrace.model.time.end_of_time import END_OF_TIME_MS, Time


def latest(first_ms: int, second_ms: int) -> int:
    """The timestamp of a result of two records or rows: the later of theirs (KIP-259).

    It is not used where a stream looks up a table: there the result has the timestamp of the stream's record.
    """
    return max(first_ms, second_ms)


def later_many(times_ms: Ints, duration_ms: int) -> Ints:
    """`later` of `headrace.model.time.end_of_time`, for many times."""
    sums: Ints = np.minimum(times_ms, END_OF_TIME_MS - max(duration_ms, 0)) + duration_ms
    return sums


def last_closed_start(time_ms: Time, size_ms: int, wait_ms: int, *, end_included: bool = False) -> Time:
    """The latest start of the windows of size `size_ms` that are closed at stream time `time_ms`.

    The other parameters are those of `last_closed_end`. Starts show exactly which windows are closed. Ends do not,
    because some are cut off at the end of time.
    """
    return time_ms - (size_ms + wait_ms + end_included)


def last_closed_end(time_ms: Time, wait_ms: int, *, end_included: bool = False) -> Time:
    """The latest end of the windows that are closed at stream time `time_ms`. Windows that end later are open.

    A window accepts late records until `wait_ms` after its end. With `end_included`, its end belongs to the window, so
    it closes 1 ms later. A window that ends at the end of time never counts as closed here: its end may be cut off.
    """
    last_ms = time_ms - (wait_ms + end_included)
    return min(last_ms, END_OF_TIME_MS - 1) if isinstance(last_ms, int) else np.minimum(last_ms, END_OF_TIME_MS - 1)


def closes_at(end_ms: int, wait_ms: int, *, end_included: bool = False) -> int | None:
    """The stream time at which a window with this end closes, `None` for never: the inverse of `last_closed_end`."""
    return None if end_ms == END_OF_TIME_MS else due_at(end_ms, wait_ms + end_included)


def due_at(time_ms: int, wait_ms: int) -> int | None:
    """The stream time at which a wait of `wait_ms` since `time_ms` is over; `None` if beyond the end of time."""
    due_ms = time_ms + wait_ms
    return due_ms if due_ms <= END_OF_TIME_MS else None
