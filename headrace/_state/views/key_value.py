"""What queries see of key-value stores: reads that return values, with timestamps and headers on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any, ClassVar, Generic, TypeVar

from headrace._state.stores.key_value import (
    KeyValues,
    TypedKeyValueStore,
    TypedKeyValueStoreWithHeaders,
    TypedTimestampedKeyValueStore,
)
from headrace._state.views.shown import value_and_timestamp
from headrace._suggestions.attributes import suggest_attributes
from headrace.model.stores.interfaces import ValueAndTimestamp, ValueTimestampHeaders
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")

_Entries = Iterator[tuple[K, V]]
_Timestamped = TypedTimestampedKeyValueStore[K, V] | TypedKeyValueStoreWithHeaders[K, V]


@suggest_attributes
class _KeyValueReads(Generic[K, V]):
    """Reads of a key-value store.

    `show` turns what is stored for a key into what a read returns; with `None`, reads return it unchanged.
    """

    _public_name: ClassVar[str] = "ReadOnlyKeyValueStore"

    def __init__(self, store: KeyValues[K, Any], show: Callable[[Any], V] | None) -> None:
        self._store = store
        self._show = show

    def get(self, key: K) -> V | None:
        """The value of a key, or `None`."""
        stored = self._store.get(key)
        return stored if stored is None or self._show is None else self._show(stored)

    def range(self, from_key: K | None = None, to_key: K | None = None) -> _Entries[K, V]:
        """Entries from one key to another, both inclusive; `None` is an open end."""
        return self._entries(self._store.range(from_key, to_key))

    def reverse_range(self, from_key: K | None = None, to_key: K | None = None) -> _Entries[K, V]:
        """The entries of `range`, from the last to the first."""
        return self._entries(self._store.reverse_range(from_key, to_key))

    def prefix_scan(self, prefix: Any, prefix_serde: Serde[Any] | None = None) -> _Entries[K, V]:
        """Entries whose serialized key starts with the serialized prefix, in the order of the serialized keys.

        `prefix_serde` serializes the prefix; by default the key serde does.
        """
        return self._entries(self._store.prefix_scan(prefix, prefix_serde))

    def all(self) -> _Entries[K, V]:
        """All entries, in the order of the serialized keys."""
        return self._entries(self._store.all())

    def reverse_all(self) -> _Entries[K, V]:
        """All entries, from the last to the first."""
        return self._entries(self._store.reverse_all())

    def approximate_num_entries(self) -> int:
        """The number of entries; an estimate if keys are longer than 510 bytes."""
        return self._store.approximate_num_entries()

    def _entries(self, entries: Iterator[tuple[K, Any]]) -> _Entries[K, V]:
        show = self._show
        return entries if show is None else ((key, show(stored)) for key, stored in entries)


class KeyValueView(_KeyValueReads[K, V]):
    """Read-only access to a committed key-value store, as `app.store()` returns it.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> store = TypedKeyValueStore(MemoryStore(), serdes.String(), serdes.Long())
        >>> store.put("bern", 3)
        >>> list(KeyValueView(store).all())
        [('bern', 3)]
    """

    def __init__(self, store: TypedKeyValueStore[K, V]) -> None:
        super().__init__(store, None)


class TimestampedKeyValueView(_KeyValueReads[K, V]):
    """Read-only access to a committed key-value store with timestamps: reads return just the values.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> store = TypedTimestampedKeyValueStore(MemoryStore(), serdes.String(), serdes.Long())
        >>> store.put("bern", 3, 12)
        >>> view = TimestampedKeyValueView(store)
        >>> view.get("bern"), view.get_with_timestamp("bern")
        (3, ValueAndTimestamp(value=3, timestamp_ms=12))
        >>> list(view.with_timestamps().all())
        [('bern', ValueAndTimestamp(value=3, timestamp_ms=12))]
    """

    _public_name: ClassVar[str] = "ReadOnlyTimestampedKeyValueStore"

    def __init__(self, store: _Timestamped[K, V]) -> None:
        super().__init__(store, itemgetter(0))

    def get_with_timestamp(self, key: K) -> ValueAndTimestamp[V] | None:
        """The value of a key with its timestamp, or `None`."""
        return self.with_timestamps().get(key)

    def with_timestamps(self) -> _KeyValueReads[K, ValueAndTimestamp[V]]:
        """The same store, with reads that return values with their timestamps."""
        return _KeyValueReads(self._store, value_and_timestamp)


class KeyValueViewWithHeaders(TimestampedKeyValueView[K, V]):
    """Read-only access to a committed key-value store with headers: reads return just the values."""

    _public_name: ClassVar[str] = "ReadOnlyTimestampedKeyValueStoreWithHeaders"

    def __init__(self, store: TypedKeyValueStoreWithHeaders[K, V]) -> None:
        super().__init__(store)

    def with_headers(self) -> _KeyValueReads[K, ValueTimestampHeaders[V]]:
        """The same store, with reads that return values with their timestamps and headers."""
        return _KeyValueReads(self._store, None)
