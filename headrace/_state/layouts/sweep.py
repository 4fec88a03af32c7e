"""Removal of expired entries, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from headrace._state.bytes.api import ByteStore

# A put adds at most two entries: what expires is removed faster than it came.
_STEP = 4


class Sweep:
    """Takes entries off the low end of a store, so that no single put pays for all that expired at once."""

    def __init__(self, contents: ByteStore, start: bytes) -> None:
        self.pending = False
        self._contents = contents
        self._low = start
        self._entries: Iterator[tuple[bytes, bytes]] = iter(())

    def extend(self, end: bytes) -> None:
        """From now on everything below `end` is to go."""
        # Not from the start again: within a batch, removed entries still take time to pass.
        self._entries = self._contents.range(self._low, end)
        self.pending = True

    def step(self, puts: int = 1) -> list[tuple[bytes, bytes]]:
        """Removes the next few entries, for a put or for several, and returns them."""
        removed = list(islice(self._entries, _STEP * puts))
        self._contents.put_many((key, None) for key, _ in removed)
        if removed:
            self._low = removed[-1][0]
        self.pending = len(removed) == _STEP * puts
        return removed
