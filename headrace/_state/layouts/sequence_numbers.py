"""Sequence numbers, which distinguish entries of the same key and time and order them by arrival."""

from __future__ import annotations

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import SEQUENCE

SEQUENCE_SIZE = 8


class SequenceNumbers:
    """Increasing numbers; the last one is saved in the store, so a later batch continues after it."""

    def __init__(self, contents: ByteStore) -> None:
        self._contents = contents
        self._last: int | None = None

    def next(self) -> bytes:
        if self._last is None:
            self._last = int.from_bytes(self._contents.get(SEQUENCE) or b"")
        self._last += 1
        number = self._last.to_bytes(SEQUENCE_SIZE)
        self._contents.put(SEQUENCE, number)
        return number
