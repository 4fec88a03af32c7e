"""A store with a bounded number of entries, which evicts the least recently used one.

The order of use is saved in the store, so it is as durable as the entries. Every use of a key gives it the next higher
number, and an index leads from these numbers to the keys.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from headrace._state.bytes.api import ByteStore, prefix_end
from headrace._state.bytes.composite import BY_TIME, ENTRY, KEY_TIME, SEQUENCE, USAGE
from headrace._state.layouts.time_queue import TimeQueue

_NUMBER = struct.Struct(">Q")
_END = prefix_end(ENTRY)


class LruReader:
    """Reads the entries, in the order of their keys, without recording a use: for queries."""

    def __init__(self, contents: ByteStore) -> None:
        self._contents = contents

    def get(self, key: bytes) -> bytes | None:
        return self._contents.get(ENTRY + key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        return _without_mark(self._contents.range(*_bounds(start, end)))

    def reverse_range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        return _without_mark(self._contents.reverse_range(*_bounds(start, end)))

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return _without_mark(self._contents.prefix(ENTRY + prefix))

    def approximate_len(self) -> int:
        return _number(self._contents.get(USAGE))


class LruEntries(LruReader, ByteStore):
    """A `ByteStore` of at most `max_entries` entries. A `get` or `put` of a key is a use; a scan is not.

    Example:
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> entries = LruEntries(MemoryStore(), 2)
        >>> entries.put(b"a", b"1"), entries.put(b"b", b"2"), entries.get(b"a"), entries.put(b"c", b"3")
        (None, None, b'1', None)
        >>> list(entries.range(None, None))
        [(b'a', b'1'), (b'c', b'3')]
    """

    def __init__(self, contents: ByteStore, max_entries: int) -> None:
        super().__init__(contents)
        self._max_entries = max_entries
        self._order = TimeQueue(contents, BY_TIME)

    def get(self, key: bytes) -> bytes | None:
        value = self._contents.get(ENTRY + key)
        if value is not None:
            self._use(key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        is_new = self._contents.get(ENTRY + key) is None
        self._contents.put(ENTRY + key, value)
        self._use(key)
        if is_new:
            self._resize(1)
            self._evict()

    def delete(self, key: bytes) -> None:
        number = self._contents.get(KEY_TIME + key)
        if number is not None:
            self._order.remove(_number(number), key)
            self._contents.delete(KEY_TIME + key)
            self._contents.delete(ENTRY + key)
            self._resize(-1)

    def _use(self, key: bytes) -> None:
        last, before = _number(self._contents.get(SEQUENCE)), self._contents.get(KEY_TIME + key)
        if before is not None:
            if _number(before) == last:
                return
            self._order.remove(_number(before), key)
        number = _NUMBER.pack(last + 1)
        self._contents.put(SEQUENCE, number)
        self._contents.put(KEY_TIME + key, number)
        self._order.add(last + 1, key)

    def _evict(self) -> None:
        while self.approximate_len() > self._max_entries:
            oldest = self._order.first()
            assert oldest is not None
            self.delete(oldest[1])

    def _resize(self, more: int) -> None:
        self._contents.put(USAGE, _NUMBER.pack(self.approximate_len() + more))


def _bounds(start: bytes | None, end: bytes | None) -> tuple[bytes, bytes | None]:
    return ENTRY + (start or b""), _END if end is None else ENTRY + end


def _number(raw: bytes | None) -> int:
    return 0 if raw is None else int(_NUMBER.unpack(raw)[0])


def _without_mark(entries: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    return ((key[len(ENTRY) :], value) for key, value in entries)
