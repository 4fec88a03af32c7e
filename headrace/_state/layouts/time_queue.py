"""A queue of keys in a store, ordered by time."""

from __future__ import annotations

from collections.abc import Iterator

from headrace._state.bytes.api import ByteStore, next_key, prefix_end
from headrace._state.bytes.composite import TIME_SIZE, time_at, time_bytes


class TimeQueue:
    """A queue of entries in a store. An entry key is `prefix`, a time, then the bytes of a key.

    The queue remembers its first entry. Otherwise each search for it would pass over all entries that the batch has
    removed, because they stay in the snapshot until the commit. So only the one writer of a store may use a queue.

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
        # No entry key is less. If `_bound_is_first`, this is the first entry key, or `_end` if the queue is empty.
        self._lower_bound = prefix
        self._bound_is_first = False

    def add(self, time_ms: int, key: bytes, raw: bytes = b"") -> None:
        """Adds an entry, or replaces the one of the same time and key."""
        entry_key = self.entry_key(time_ms, key)
        self._contents.put(entry_key, raw)
        if entry_key < self._lower_bound:
            self._lower_bound, self._bound_is_first = entry_key, True

    def remove(self, time_ms: int, key: bytes) -> None:
        entry_key = self.entry_key(time_ms, key)
        self._contents.delete(entry_key)
        if entry_key == self._lower_bound:
            self._lower_bound, self._bound_is_first = next_key(entry_key), False

    def entry_key(self, time_ms: int, key: bytes) -> bytes:
        """The key of an entry in the store."""
        return self._prefix + time_bytes(time_ms) + key

    def first(self) -> tuple[int, bytes] | None:
        """The earliest time and its key, of equal times the one with the smallest key; `None` if the queue is empty."""
        entry_key = self._first_entry_key()
        return None if entry_key is None else self._entry(entry_key)

    def until(self, last_ms: int) -> Iterator[tuple[int, bytes]]:
        """Yields entries no later than `last_ms`, in order. The caller must remove each one before taking the next."""
        if last_ms < 0:
            return
        first, end = self._first_entry_key(), self._prefix + time_bytes(last_ms + 1)
        if first is None or first >= end:
            return
        # The range ends at `_end`, not at `end`: the first entry that is too late is then the first of the queue.
        for entry_key, _ in self._contents.range(first, self._end):
            self._lower_bound, self._bound_is_first = entry_key, True
            if entry_key >= end:
                return
            yield self._entry(entry_key)
        self._lower_bound, self._bound_is_first = self._end, True

    def first_from(self, time_ms: int, key: bytes = b"") -> tuple[int, bytes] | None:
        """The first entry at or after a time and key, or `None`."""
        found = next(self._contents.range(self.entry_key(time_ms, key), self._end), None)
        return None if found is None else self._entry(found[0])

    def latest_ms(self, no_later_than_ms: int) -> int | None:
        """Finds the time of the last entry by bisection; `None` if the queue is empty.

        No entry may be later than `no_later_than_ms`.
        """
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

    def _first_entry_key(self) -> bytes | None:
        if not self._bound_is_first:
            found = next(self._contents.range(self._lower_bound, self._end), None)
            self._lower_bound, self._bound_is_first = self._end if found is None else found[0], True
        return None if self._lower_bound == self._end else self._lower_bound

    def _entry(self, entry_key: bytes) -> tuple[int, bytes]:
        start = len(self._prefix)
        return time_at(entry_key, start), entry_key[start + TIME_SIZE :]
