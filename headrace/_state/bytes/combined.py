"""The stores of all tasks of a sub-topology, read as one. No key is in two of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from headrace._state.bytes.api import ByteReader, prefix_end


class CombinedReader:
    """A `ByteReader` that reads several stores as one. Every key must be in at most one of them."""

    def __init__(self, parts: Sequence[ByteReader]) -> None:
        self._parts = tuple(parts)

    def get(self, key: bytes) -> bytes | None:
        found = (part.get(key) for part in self._parts)
        return next((value for value in found if value is not None), None)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self.get(key) for key in keys]

    def range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        return heapq.merge(*(part.range(start, end) for part in self._parts))

    def reverse_range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        return heapq.merge(*(part.reverse_range(start, end) for part in self._parts), reverse=True)

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self.range(prefix, prefix_end(prefix))

    def approximate_len(self) -> int:
        return sum(part.approximate_len() for part in self._parts)
