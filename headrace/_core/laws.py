"""The laws of result timestamps, written once."""

from __future__ import annotations


def latest(first_ms: int, second_ms: int) -> int:
    """The timestamp of a result made of two things: the later of theirs (KIP-259)."""
    return max(first_ms, second_ms)
