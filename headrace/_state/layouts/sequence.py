"""Numbers that tell apart what is put under the same key and time, in the order of the puts."""

from __future__ import annotations

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import SEQUENCE

SEQUENCE_SIZE = 8


class Sequence:
    """Counts on from where the store last stood."""

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
