"""What a query sees of the records of a join that have found no partner: reads only, over the parts of all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Generic, TypeVar

from headrace._state.stores.unjoined import Unjoined, UnjoinedStore

K = TypeVar("K")


class ReadOnlyUnjoinedStore(Generic[K]):
    """Reads of the records that wait for a partner.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> from headrace.serdes.sides import Sides
        >>> store = UnjoinedStore(MemoryStore(), serdes.String(), Sides(serdes.String(), serdes.Long()))
        >>> store.add(b"bern", "click", 12, is_left=True)
        >>> view = ReadOnlyUnjoinedStore([store])
        >>> view.num_records(), list(view.all())
        (1, [Unjoined(key='bern', value='click', timestamp_ms=12, is_left=True)])
    """

    def __init__(self, parts: Sequence[UnjoinedStore[K]]) -> None:
        self._parts = tuple(parts)

    def all(self) -> Iterator[Unjoined[K]]:
        """All records that wait, by timestamp, then the right side before the left, then serialized key."""
        return merge(*(part.all() for part in self._parts), key=lambda row: self._parts[0].order(row))

    def num_records(self) -> int:
        """How many records wait; it costs the same however many they are."""
        return sum(part.waiting() for part in self._parts)
