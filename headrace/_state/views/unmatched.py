"""What queries see of the unmatched records of a join, over the stores of all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Generic, TypeVar

from headrace._state.stores.unmatched import UnmatchedRecord, UnmatchedStore
from headrace._suggestions.attributes import suggest_attributes

K = TypeVar("K")


@suggest_attributes
class UnmatchedView(Generic[K]):
    """Read-only access to the committed unmatched records of a join, as `app.store()` returns it.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> from headrace.serdes.wrapping.sides import Sides
        >>> store = UnmatchedStore(MemoryStore(), serdes.String(), Sides(serdes.String(), serdes.Long()))
        >>> store.add(b"bern", "click", 12, is_left=True)
        >>> view = UnmatchedView([store])
        >>> view.num_records(), list(view.all())
        (1, [UnmatchedRecord(key='bern', value='click', timestamp_ms=12, is_left=True)])
    """

    def __init__(self, parts: Sequence[UnmatchedStore[K]]) -> None:
        self._parts = tuple(parts)

    def all(self) -> Iterator[UnmatchedRecord[K]]:
        """All unmatched records, by timestamp, then the right side before the left, then serialized key."""
        return merge(*(part.all() for part in self._parts), key=lambda row: self._parts[0].order(row))

    def num_records(self) -> int:
        """The number of unmatched records, in constant time."""
        return sum(part.count() for part in self._parts)
