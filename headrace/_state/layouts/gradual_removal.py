"""Removes expired entries, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from headrace._state.bytes.api import ByteStore

# A put adds at most two entries: expired entries are removed faster than new ones arrive.
_STEP = 4


class GradualRemoval:
    """Removes the expired entries of a store, a few with each put, so that no single put pays for a whole segment.

    They are the first entries of the store, up to the end that `extend` was given.
    """

    def __init__(self, contents: ByteStore, start: bytes) -> None:
        self.pending = False
        self._contents = contents
        self._low = start
        self._entries: Iterator[tuple[bytes, bytes]] = iter(())

    def extend(self, end: bytes) -> None:
        """Marks everything below `end` (exclusive) for removal, in addition to what is already marked."""
        # Continues where it stopped: within a batch, a scan from `start` would pass over all entries already removed.
        self._entries = self._contents.range(self._low, end)
        self.pending = True

    def step(self, puts: int = 1) -> list[tuple[bytes, bytes]]:
        """Removes and returns the next few entries, in proportion to the number of puts."""
        removed = list(islice(self._entries, _STEP * puts))
        self._contents.put_many((key, None) for key, _ in removed)
        if removed:
            self._low = removed[-1][0]
        self.pending = len(removed) == _STEP * puts
        return removed
