"""What queries see of versioned stores, over the stores of all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import chain
from typing import ClassVar, Generic, TypeVar

from headrace._state.stores.versioned import TypedVersionedStore
from headrace._suggestions.attributes import suggest_attributes
from headrace.model.stores.interfaces import VersionedRecord

K = TypeVar("K")
V = TypeVar("V")


@suggest_attributes
class VersionedView(Generic[K, V]):
    """Read-only access to a committed versioned store, as `app.store()` returns it.

    It reads the stores of all tasks, `parts`. A key is in at most one of them; each has its own stream time.


    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> store = TypedVersionedStore(MemoryStore(), 100, serdes.String(), serdes.String())
        >>> store.put("alice", "Bern", 10), store.put("alice", "Basel", 30)
        (-1, -1)
        >>> view = VersionedView([store])
        >>> view.get("alice"), view.get_as_of("alice", 20), view.get_with_timestamp("alice")
        ('Basel', 'Bern', VersionedRecord(value='Basel', timestamp_ms=30))
    """

    _public_name: ClassVar[str] = "ReadOnlyVersionedKeyValueStore"

    def __init__(self, parts: Sequence[TypedVersionedStore[K, V]]) -> None:
        self._parts = tuple(parts)

    def get(self, key: K) -> V | None:
        """The latest value of a key, or `None`."""
        return _value(self.get_with_timestamp(key))

    def get_as_of(self, key: K, as_of_ms: int) -> V | None:
        """The value valid at a time, or `None`."""
        return _value(_first(part.row_as_of(key, as_of_ms) for part in self._parts))

    def get_with_timestamp(self, key: K) -> VersionedRecord[V] | None:
        """The latest value of a key with the time from which it is valid, or `None`."""
        return _first(part.get(key) for part in self._parts)

    def all(self) -> Iterator[tuple[K, V]]:
        """The latest value of every key, in the order of the serialized keys."""
        entries = merge(*(part.all() for part in self._parts), key=self._order)
        return ((key, record.value) for key, record in entries)

    def reverse_all(self) -> Iterator[tuple[K, V]]:
        """The entries of `all`, from the last to the first."""
        entries = merge(*(part.reverse_all() for part in self._parts), key=self._order, reverse=True)
        return ((key, record.value) for key, record in entries)

    def versions(
        self, key: K, from_ms: int | None = None, to_ms: int | None = None, *, descending: bool = False
    ) -> Iterator[VersionedRecord[V]]:
        """The versions of a key that were valid at some time between two, both inclusive, without deletions.

        `None` is an open end. The oldest version comes first; with `descending`, the newest.
        """
        found = (part.versions(key, from_ms, to_ms, descending=descending) for part in self._parts)
        return chain.from_iterable(found)

    def _order(self, entry: tuple[K, VersionedRecord[V]]) -> bytes:
        return self._parts[0].key_serde.serialize(entry[0]) or b""


def _first(found: Iterator[VersionedRecord[V] | None]) -> VersionedRecord[V] | None:
    return next((record for record in found if record is not None), None)


def _value(record: VersionedRecord[V] | None) -> V | None:
    return None if record is None else record.value
