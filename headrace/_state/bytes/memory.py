"""A store in memory, for the test driver: a dict, and a sorted set of its keys that the first range read builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace._state.bytes.api import ByteStore, next_key, prefix_end
from headrace._state.bytes.sortedkeys import SortedKeys


class MemoryStore(ByteStore):
    """A `ByteStore` in a dict."""

    def __init__(self) -> None:
        self._data: dict[bytes, bytes] = {}
        self._keys = SortedKeys()
        self._unsorted: list[bytes] = []

    def get(self, key: bytes) -> bytes | None:
        return self._data.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return list(map(self._data.get, keys))

    def put(self, key: bytes, value: bytes) -> None:
        if key not in self._data:
            self._unsorted.append(key)
        self._data[key] = value

    def delete(self, key: bytes) -> None:
        self._data.pop(key, None)

    def range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        low = start or b""
        while True:
            if self._unsorted:
                self._order()
            key = self._keys.at_or_after(low)
            if key is None or (end is not None and key >= end):
                return
            low = next_key(key)
            value = self._data.get(key)
            if value is not None:
                yield key, value

    def reverse_range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        low, high = start or b"", end
        while True:
            if self._unsorted:
                self._order()
            key = self._keys.before(high)
            if key is None or key < low:
                return
            high = key
            value = self._data.get(key)
            if value is not None:
                yield key, value

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self.range(prefix, prefix_end(prefix))

    def approximate_len(self) -> int:
        return len(self._data)

    def _order(self) -> None:
        # Deleted keys stay in the sorted set until they outnumber the live keys: each removal would cost a search.
        if self._keys.size > 2 * len(self._data):
            self._keys = SortedKeys(self._data)
        else:
            self._keys.add(self._unsorted)
        self._unsorted.clear()
