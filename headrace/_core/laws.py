"""Rules that several operators share, each written once."""

from __future__ import annotations

from typing import TypeVar

from headrace._core.task.order import Ints

Time = TypeVar("Time", int, Ints)


def latest(first_ms: int, second_ms: int) -> int:
    """The timestamp of a result of two records or rows: the later of theirs (KIP-259)."""
    return max(first_ms, second_ms)


def last_closed_end(time_ms: Time, wait_ms: int, *, end_included: bool = False) -> Time:
    """The latest end of windows that are closed at a stream time; windows that end later are open.

    A window waits for late records, `wait_ms` after its end. If its end belongs to it, it still takes records when the
    stream time is exactly at the end of that wait.
    """
    return time_ms - (wait_ms + end_included)


def closes_at(end_ms: Time, wait_ms: int, *, end_included: bool = False) -> Time:
    """The stream time at which a window with this end closes: the inverse of `last_closed_end`."""
    return end_ms + (wait_ms + end_included)
