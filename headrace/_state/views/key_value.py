"""What a query sees of a store: reads only, and plain values whether or not the store keeps timestamps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from headrace._state.stores.key_value import TypedKeyValueStore, TypedTimestampedKeyValueStore
from headrace._suggestions.attributes import suggest_attributes
from headrace.model.store_interfaces import ValueAndTimestamp
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")


@suggest_attributes
class KeyValueView(Generic[K, V]):
    """Reads of a key-value store.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> store = TypedKeyValueStore(MemoryStore(), serdes.String(), serdes.Long())
        >>> store.put("bern", 3)
        >>> list(KeyValueView(store).all())
        [('bern', 3)]
    """

    def __init__(self, store: TypedKeyValueStore[K, V]) -> None:
        self._store = store

    def get(self, key: K) -> V | None:
        """The value of a key, or `None`."""
        return self._store.get(key)

    def range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[K, V]]:
        """Entries from one key to another, both inclusive; `None` is an open end."""
        return self._store.range(from_key, to_key)

    def prefix_scan(self, prefix: Any, prefix_serde: Serde[Any] | None = None) -> Iterator[tuple[K, V]]:
        """Entries whose serialized key starts with the serialized prefix."""
        return self._store.prefix_scan(prefix, prefix_serde)

    def all(self) -> Iterator[tuple[K, V]]:
        """All entries, in the order of the serialized keys."""
        return self._store.all()

    def approximate_num_entries(self) -> int:
        """How many entries there are, about."""
        return self._store.approximate_num_entries()


@suggest_attributes
class TimestampedKeyValueView(Generic[K, V]):
    """The same of a timestamped store: plain values, and the timestamp on request.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> store = TypedTimestampedKeyValueStore(MemoryStore(), serdes.String(), serdes.Long())
        >>> store.put("bern", 3, 12)
        >>> view = TimestampedKeyValueView(store)
        >>> view.get("bern"), view.get_with_timestamp("bern")
        (3, ValueAndTimestamp(value=3, timestamp_ms=12))
    """

    def __init__(self, store: TypedTimestampedKeyValueStore[K, V]) -> None:
        self._store = store

    def get(self, key: K) -> V | None:
        """The value of a key, or `None`."""
        pair = self._store.get(key)
        return None if pair is None else pair[0]

    def get_with_timestamp(self, key: K) -> ValueAndTimestamp[V] | None:
        """The value of a key with its timestamp, or `None`."""
        pair = self._store.get(key)
        return None if pair is None else ValueAndTimestamp(*pair)

    def range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[K, V]]:
        """Entries from one key to another, both inclusive; `None` is an open end."""
        return _plain(self._store.range(from_key, to_key))

    def prefix_scan(self, prefix: Any, prefix_serde: Serde[Any] | None = None) -> Iterator[tuple[K, V]]:
        """Entries whose serialized key starts with the serialized prefix."""
        return _plain(self._store.prefix_scan(prefix, prefix_serde))

    def all(self) -> Iterator[tuple[K, V]]:
        """All entries, in the order of the serialized keys."""
        return _plain(self._store.all())

    def approximate_num_entries(self) -> int:
        """How many entries there are, about."""
        return self._store.approximate_num_entries()


def _plain(entries: Iterator[tuple[K, tuple[V, int]]]) -> Iterator[tuple[K, V]]:
    return ((key, pair[0]) for key, pair in entries)
