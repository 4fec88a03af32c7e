"""Typed key-value stores over a byte store.

A value is serialized when it is put and deserialized when it is read, so no two readers ever share a mutable value.
Ranges include both end keys and order entries by their serialized keys. Iterators are live (see `bytes/api.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

from headrace._state.bytes.api import next_key
from headrace._state.layouts.headers import decode_headers, encode_headers
from headrace._state.layouts.typed import TypedStore
from headrace._state.stores.versioned import NEWEST
from headrace.model.record import Headers
from headrace.model.stores.interfaces import ValueAndTimestamp, ValueTimestampHeaders
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")

Timestamped: TypeAlias = tuple[V, int]

_Scan = Callable[[bytes | None, bytes | None], Iterator[tuple[bytes, bytes]]]

_TIMESTAMP = struct.Struct(">q")
TIMESTAMP_SIZE = _TIMESTAMP.size


class KeyValues(TypedStore[K], Generic[K, S]):
    """The base class of key-value stores. `S` is the type of what reads return for a key."""

    def get(self, key: K) -> S | None:
        """The value of a key, or `None`."""
        raw = self.contents.get(self.key_bytes(key))
        return None if raw is None else self._decode_entry(raw)

    def delete(self, key: K) -> S | None:
        """Removes a key; returns its value, or `None`."""
        key_bytes = self.key_bytes(key)
        raw = self.contents.get(key_bytes)
        if raw is not None:
            self.contents.delete(key_bytes)
        return None if raw is None else self._decode_entry(raw)

    def range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[K, S]]:
        """Entries from one key to another, both inclusive, ordered by their serialized keys; `None` is an open end."""
        return self._scan(self.contents.range, from_key, to_key)

    def reverse_range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[K, S]]:
        """The entries of `range`, from the last to the first."""
        return self._scan(self.contents.reverse_range, from_key, to_key)

    def prefix_scan(self, prefix: Any, prefix_serde: Serde[Any] | None = None) -> Iterator[tuple[K, S]]:
        """Entries whose serialized key starts with the serialized prefix, in the order of the serialized keys.

        `prefix_serde` serializes the prefix; by default the key serde does.
        """
        raw = (prefix_serde or self.key_serde).serialize(prefix)
        return self._entries(self.contents.prefix(raw or b""))

    def all(self) -> Iterator[tuple[K, S]]:
        """All entries, in the order of the serialized keys."""
        return self._entries(self.contents.range(None, None))

    def reverse_all(self) -> Iterator[tuple[K, S]]:
        """All entries, from the last to the first."""
        return self._entries(self.contents.reverse_range(None, None))

    def approximate_num_entries(self) -> int:
        """The number of entries; an estimate if keys are longer than 510 bytes."""
        return self.contents.approximate_len()

    def _scan(self, scan: _Scan, from_key: K | None, to_key: K | None) -> Iterator[tuple[K, S]]:
        bounds = self._bounds(from_key, to_key)
        if bounds is None:
            return iter(())
        first, last = bounds
        return self._entries(scan(first, None if last is None else next_key(last)))

    def _entries(self, entries: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[K, S]]:
        return ((self._read_key(key), self._decode_entry(raw)) for key, raw in entries)


class TypedKeyValueStore(KeyValues[K, V]):
    """Values by key.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> store = TypedKeyValueStore(MemoryStore(), serdes.String(), serdes.Long(), name="visits")
        >>> store.put("bern", 3), store.put("basel", 1), store.put_if_absent("bern", 9)
        (None, None, 3)
        >>> list(store.range("basel", "bern"))
        [('basel', 1), ('bern', 3)]
        >>> store.delete("bern"), store.get("bern")
        (3, None)
    """

    def put(self, key: K, value: V | None) -> None:
        """Stores a value; `None` removes the key."""
        key_bytes, raw = self.key_bytes(key), self.value_serde.serialize(value)
        if raw is None:
            self.contents.delete(key_bytes)
        else:
            self.contents.put(key_bytes, raw)

    def put_if_absent(self, key: K, value: V | None) -> V | None:
        """Stores a value unless the key has one; returns the existing value, or `None`."""
        present = self.get(key)
        if present is None:
            self.put(key, value)
        return present

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """`put` for each entry, in order."""
        for key, value in entries:
            self.put(key, value)


class TypedTimestampedKeyValueStore(KeyValues[K, ValueAndTimestamp[V]], Generic[K, V]):
    """Values by key, each with a timestamp in epoch milliseconds; reads return the pair.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> store = TypedTimestampedKeyValueStore(MemoryStore(), serdes.String(), serdes.Json(), name="users")
        >>> store.put("alice", {"city": "Bern"}, 12)
        >>> store.get("alice")
        ValueAndTimestamp(value={'city': 'Bern'}, timestamp_ms=12)
        >>> [(key, timestamp_ms) for key, (value, timestamp_ms) in store.all()]
        [('alice', 12)]
    """

    def put(self, key: K, value: V | None, timestamp_ms: int) -> None:
        """Stores a value with its timestamp; a value of `None` removes the key."""
        self.write(self.key_bytes(key), value, timestamp_ms)

    def get_with_timestamp(self, key: K) -> ValueAndTimestamp[V] | None:
        """Same as `get`. Views for queries have this method too, and their `get` returns the value alone."""
        return self.get(key)

    def read(self, key_bytes: bytes) -> Timestamped[V] | None:
        """`get` for an operator that has already serialized the key."""
        raw = self.contents.get(key_bytes)
        if raw is None:
            return None
        value: V = self._read_value(raw[_TIMESTAMP.size :])
        return value, _TIMESTAMP.unpack_from(raw)[0]

    def write(self, key_bytes: bytes, value: V | None, timestamp_ms: int) -> int:
        """`put` for an operator that has already serialized the key; returns `NEWEST`, as there are no versions."""
        raw = self._value_to_bytes(value)
        if raw is None:
            self.contents.delete(key_bytes)
        else:
            self.contents.put(key_bytes, _TIMESTAMP.pack(timestamp_ms) + raw)
        return NEWEST

    def put_if_absent(self, key: K, value: V | None, timestamp_ms: int) -> ValueAndTimestamp[V] | None:
        """Stores a value unless the key has one; returns the existing pair, or `None`."""
        present = self.get(key)
        if present is None:
            self.put(key, value, timestamp_ms)
        return present

    def put_all(self, entries: Iterable[tuple[K, tuple[V | None, int] | None]]) -> None:
        """`put` for each entry, in order; an entry is a key with a pair of value and timestamp, or with `None`."""
        for key, pair in entries:
            self.put(key, *((None, 0) if pair is None else pair))

    def _decode_entry(self, raw: bytes) -> ValueAndTimestamp[V]:
        return ValueAndTimestamp(self._read_value(raw[TIMESTAMP_SIZE:]), timestamp_of(raw))


class TypedKeyValueStoreWithHeaders(KeyValues[K, ValueTimestampHeaders[V]], Generic[K, V]):
    """Values by key, each with a timestamp in epoch milliseconds and headers.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> store = TypedKeyValueStoreWithHeaders(MemoryStore(), serdes.String(), serdes.Long(), name="totals")
        >>> store.put("bern", 3, 12, (("trace", b"t1"),))
        >>> store.get("bern")
        ValueTimestampHeaders(value=3, timestamp_ms=12, headers=(('trace', b't1'),))
    """

    def put(self, key: K, value: V | None, timestamp_ms: int, headers: Headers = ()) -> None:
        """Stores a value with its timestamp and headers; a value of `None` removes the key."""
        key_bytes, raw = self.key_bytes(key), self._value_to_bytes(value)
        if raw is None:
            self.contents.delete(key_bytes)
        else:
            self.contents.put(key_bytes, with_timestamp(encode_headers(headers) + raw, timestamp_ms))

    def put_if_absent(
        self, key: K, value: V | None, timestamp_ms: int, headers: Headers = ()
    ) -> ValueTimestampHeaders[V] | None:
        """Stores a value unless the key has one; returns what the key had, or `None`."""
        present = self.get(key)
        if present is None:
            self.put(key, value, timestamp_ms, headers)
        return present

    def put_all(self, entries: Iterable[tuple[K, tuple[V | None, int, Headers] | None]]) -> None:
        """`put` for each entry, in order; an entry is a key with value, timestamp and headers, or with `None`."""
        for key, stored in entries:
            self.put(key, *((None, 0) if stored is None else stored))

    def _decode_entry(self, raw: bytes) -> ValueTimestampHeaders[V]:
        headers, start = decode_headers(raw, TIMESTAMP_SIZE)
        return ValueTimestampHeaders(self._read_value(raw[start:]), timestamp_of(raw), headers)


def with_timestamp(raw: bytes, timestamp_ms: int) -> bytes:
    """The stored form of a timestamped value: 8 bytes big-endian, then the value's own bytes."""
    return _TIMESTAMP.pack(timestamp_ms) + raw


def timestamp_of(stored: bytes) -> int:
    """The timestamp of a stored value; the value's own bytes start at index 8."""
    timestamp_ms: int = _TIMESTAMP.unpack_from(stored)[0]
    return timestamp_ms
