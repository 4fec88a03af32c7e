"""Keys in the order of a time, from which the earliest leave."""

from __future__ import annotations

from collections.abc import Iterator

from headrace._state.bytes.api import ByteStore, after, prefix_end
from headrace._state.bytes.composite import TIME_SIZE, time_at, time_bytes


class TimeQueue:
    """Entries under a prefix of a store: a time, then the bytes of a key, both in the entry's own key.

    What left is never walked over again, even while a batch still has its deletions on top of what was committed: the
    first entry is remembered, so only one who writes may use this.

    Example:
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> queue = TimeQueue(MemoryStore(), b"t")
        >>> queue.add(7, b"a"), queue.add(5, b"b"), queue.add(9, b"c")
        (None, None, None)
        >>> [(time_ms, key, queue.remove(time_ms, key)) for time_ms, key in queue.until(7)]
        [(5, b'b', None), (7, b'a', None)]
        >>> queue.first()
        (9, b'c')
    """

    def __init__(self, contents: ByteStore, prefix: bytes) -> None:
        end = prefix_end(prefix)
        assert end is not None
        self._contents = contents
        self._prefix = prefix
        self._end = end
        # No entry is smaller than this one; if `_known`, it is the first, or the end if there is none.
        self._floor = prefix
        self._known = False

    def add(self, time_ms: int, key: bytes, raw: bytes = b"") -> None:
        """Adds an entry, or replaces what there is at its place."""
        place = self.place(time_ms, key)
        self._contents.put(place, raw)
        if place < self._floor:
            self._floor, self._known = place, True

    def remove(self, time_ms: int, key: bytes) -> None:
        place = self.place(time_ms, key)
        self._contents.delete(place)
        if place == self._floor:
            self._floor, self._known = after(place), False

    def place(self, time_ms: int, key: bytes) -> bytes:
        """Where an entry lies in the store."""
        return self._prefix + time_bytes(time_ms) + key

    def first(self) -> tuple[int, bytes] | None:
        """The earliest time and its key, by key bytes among equal times."""
        place = self._first_place()
        return None if place is None else self._entry(place)

    def until(self, last_ms: int) -> Iterator[tuple[int, bytes]]:
        """Entries no later than a time, in order. Each must be removed before the next is taken."""
        if last_ms < 0:
            return
        first, end = self._first_place(), self._prefix + time_bytes(last_ms + 1)
        if first is None or first >= end:
            return
        # Not up to `end`: so that it is known, in the end, which is the first.
        for place, _ in self._contents.range(first, self._end):
            self._floor, self._known = place, True
            if place >= end:
                return
            yield self._entry(place)
        self._floor, self._known = self._end, True

    def first_from(self, time_ms: int, key: bytes = b"") -> tuple[int, bytes] | None:
        """The earliest entry that is not before a time and key."""
        found = next(self._contents.range(self.place(time_ms, key), self._end), None)
        return None if found is None else self._entry(found[0])

    def latest_ms(self, no_later_than_ms: int) -> int | None:
        """The time of the last entry, none of which is later than the given one. A search, not a walk over all."""
        first = self.first()
        if first is None:
            return None
        low_ms, high_ms = first[0], no_later_than_ms
        while low_ms < high_ms:
            middle_ms = (low_ms + high_ms + 1) // 2
            found = self.first_from(middle_ms)
            if found is None:
                high_ms = middle_ms - 1
            else:
                low_ms = found[0]
        return low_ms

    def _first_place(self) -> bytes | None:
        if not self._known:
            found = next(self._contents.range(self._floor, self._end), None)
            self._floor, self._known = self._end if found is None else found[0], True
        return None if self._floor == self._end else self._floor

    def _entry(self, place: bytes) -> tuple[int, bytes]:
        start = len(self._prefix)
        return time_at(place, start), place[start + TIME_SIZE :]
