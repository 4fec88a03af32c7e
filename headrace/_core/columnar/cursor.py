"""Where functions are in a batch."""

from __future__ import annotations


class Cursor:
    """The row of the batch that the current record was made of, and the timestamp that it has come to have."""

    __slots__ = ("row", "timestamp_ms")

    def __init__(self) -> None:
        self.row = 0
        self.timestamp_ms = 0
