"""The rows that a suppressed table buffers: one per key, in the order in which they may be emitted.

A row keeps the buffer time of its first update, so that new updates cannot delay it forever. The store holds the rows
by key, an index by buffer time, the number of rows and their size in bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import (
    BY_KEY_AND_TIME,
    BY_TIME,
    ENTRY,
    MAX_TIME,
    TIME_SIZE,
    USAGE,
    escape_key,
    time_at,
    time_bytes,
)
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.layouts.typed import TypedStore
from headrace.model.record import Change, Headers, Record
from headrace.serdes import Serde, SessionWindowedKey, WindowedKey

K = TypeVar("K")
V = TypeVar("V")

_USAGE = struct.Struct(">QQ")
_FIXED_SIZE = 8 + 8 + 8 + 4  # buffer time, timestamp, offset, partition


class BufferedRow(NamedTuple, Generic[K, V]):
    """A buffered row: its last update, and `prior`, the value that was last emitted downstream."""

    key: K
    value: V | None
    timestamp_ms: int
    buffer_time_ms: int
    prior: V | None
    headers: Headers


class Usage(NamedTuple):
    """The number of buffered rows, and their size in bytes."""

    records: int
    bytes: int


class StoredRow(msgspec.Struct, array_like=True, gc=False):
    """A buffered row in its stored form; `size` is what it adds to the size of the buffer, in bytes."""

    buffer_time_ms: int
    size: int
    timestamp_ms: int
    prior: bytes | None
    new: bytes | None
    headers: Headers


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(StoredRow).decode


class SuppressBuffer(TypedStore[K], Generic[K, V]):
    """A buffer with one row per key, ordered by buffer time, then key bytes.

    An update of a buffered row replaces its value and timestamp, but not its buffer time: this stays that of the row's
    first update. With `each_key`, every key has its own stream time: the rows of a key, in all its windows, are emitted
    independently of other keys. A second index, by key and buffer time, finds them without a scan over all rows.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> buffer = SuppressBuffer(MemoryStore(), serdes.String(), serdes.Long(), name="held")
        >>> for key, value, time_ms in [("b", 1, 5), ("a", 1, 6), ("b", 2, 9)]:
        ...     buffer.put(Record(key, Change(value, None), time_ms), time_ms, topic="in")
        >>> buffer.oldest(), buffer.usage().records
        (('b', 5), 2)
        >>> [(row.key, row.value, row.timestamp_ms) for row in buffer.evict_due("b", 5)]
        [('b', 2, 9)]
        >>> buffer.oldest()
        ('a', 6)
    """

    def __init__(
        self,
        contents: ByteStore,
        key_serde: Serde[K],
        value_serde: Serde[V],
        *,
        each_key: bool = False,
        name: str = "",
    ) -> None:
        super().__init__(contents, key_serde, value_serde, name=name)
        self._order = TimeQueue(contents, BY_TIME)
        self._orders: dict[bytes, TimeQueue] | None = {} if each_key else None
        self._window_size = key_serde.suffix_size if isinstance(key_serde, WindowedKey | SessionWindowedKey) else 0

    def put(self, record: Record[K, Change[V]], buffer_time_ms: int, *, topic: str) -> None:
        """Buffers a change. If its row is buffered already, the row gets the new value, but keeps its buffer time.

        `buffer_time_ms` is then ignored. The name of the `topic` counts towards the size of the row, as in Kafka
        Streams.
        """
        assert record.timestamp_ms is not None
        key_bytes = self.key_bytes(record.key)
        old, new = self._value_to_bytes(record.value.old), self._value_to_bytes(record.value.new)
        present = self._load(key_bytes)
        prior = old if present is None else present.prior
        size = row_size(key_bytes, prior, old, new, topic, record.headers)
        time_ms = buffer_time_ms if present is None else present.buffer_time_ms
        row = StoredRow(time_ms, size, record.timestamp_ms, prior, new, record.headers)
        self.contents.put(ENTRY + key_bytes, _encode(row))
        if present is None:
            for order in self._orders_with(key_bytes):
                order.add(time_ms, key_bytes)
            self._count(1, size)
        else:
            self._count(0, size - present.size)

    def get(self, key: K) -> BufferedRow[K, V] | None:
        """The buffered row of a key, or `None`."""
        row = self._load(self.key_bytes(key))
        return None if row is None else self._decode_row(key, row)

    def evict_due(self, key: K, last_ms: int) -> Iterator[BufferedRow[K, V]]:
        """Removes and yields the rows whose buffer time is no later than `last_ms`, in order.

        `key` is the key of the record being processed. Without `each_key` it is ignored, and rows of all keys are
        evicted. With `each_key`, only the rows of this key are; if the key has a window, those of all its windows. A
        row is removed when the caller asks for the next one: until then, lookups of the suppressed table must still
        find the row's prior value.
        """
        order = self._order if self._orders is None else self._order_of(self.key_bytes(key))
        for _, key_bytes in order.until(last_ms):
            yield from self._evict(key_bytes)

    def evict_key(self, inner: bytes) -> Iterator[BufferedRow[K, V]]:
        """Removes and yields all rows of a key, in order; needs `each_key`. `inner` is the key without its window."""
        for _, key_bytes in self._order_within(inner).until(MAX_TIME):
            yield from self._evict(key_bytes)

    def evict_while(self, wanted: Callable[[], bool]) -> Iterator[BufferedRow[K, V]]:
        """Removes and yields rows of all keys, in order, while `wanted()` is true; removes each as `evict_due` does."""
        while wanted():
            first = self._order.first()
            if first is None:
                return
            yield from self._evict(first[1])

    def rows_of(self, keys: Sequence[bytes]) -> list[StoredRow | None]:
        """The buffered row of each serialized key, in the order of `keys`; `None` for a key without one."""
        found = self.contents.get_many([ENTRY + key_bytes for key_bytes in keys])
        return [None if raw is None else _decode(raw) for raw in found]

    def due(self, last_ms: int, inner: bytes | None = None) -> list[bytes]:
        """Serialized keys of the rows whose buffer time is no later than `last_ms`, in order.

        With `inner`, a serialized key without its window, only the rows of this key; needs `each_key`.
        """
        if last_ms < 0:
            return []
        prefix = BY_TIME if inner is None else BY_KEY_AND_TIME + escape_key(inner)
        end = prefix + time_bytes(last_ms + 1)
        return [entry_key[len(prefix) + TIME_SIZE :] for entry_key, _ in self.contents.range(prefix, end)]

    def put_many(self, rows: Iterable[tuple[bytes, StoredRow, StoredRow | None]]) -> None:
        """Puts rows. Each item has the serialized key, the new row, and the buffered row that it replaces, if any."""
        records = size = 0
        for key_bytes, row, present in rows:
            self.contents.put(ENTRY + key_bytes, _encode(row))
            size += row.size
            if present is None:
                records += 1
                for order in self._orders_with(key_bytes):
                    order.add(row.buffer_time_ms, key_bytes)
            else:
                size -= present.size
        self._count(records, size)

    def remove_many(self, rows: Iterable[tuple[bytes, StoredRow]]) -> None:
        """Removes rows. Each item has the serialized key, and the row as it is buffered."""
        records = size = 0
        for key_bytes, row in rows:
            self._remove(key_bytes, row)
            records += 1
            size += row.size
        self._count(-records, -size)

    def usage(self) -> Usage:
        """The number of buffered rows and their size. Reads stored counters instead of the rows."""
        raw = self.contents.get(USAGE)
        return Usage(0, 0) if raw is None else Usage(*_USAGE.unpack(raw))

    def oldest(self) -> tuple[K, int] | None:
        """Key and buffer time of the first row; `None` if no row is buffered. Does not read the other rows."""
        found = next(self.contents.prefix(BY_TIME), None)
        return None if found is None else (self._read_key(found[0][1 + TIME_SIZE :]), time_at(found[0], 1))

    def all(self) -> Iterator[BufferedRow[K, V]]:
        """All rows, in order."""
        for entry_key, _ in self.contents.prefix(BY_TIME):
            key_bytes = entry_key[1 + TIME_SIZE :]
            row = self._load(key_bytes)
            if row is not None:
                yield self._decode_row(self._read_key(key_bytes), row)

    def _evict(self, key_bytes: bytes) -> Iterator[BufferedRow[K, V]]:
        row = self._load(key_bytes)
        assert row is not None
        yield self._decode_row(self._read_key(key_bytes), row)
        self._remove(key_bytes, row)
        self._count(-1, -row.size)

    def _remove(self, key_bytes: bytes, row: StoredRow) -> None:
        self.contents.delete(ENTRY + key_bytes)
        for order in self._orders_with(key_bytes):
            order.remove(row.buffer_time_ms, key_bytes)

    def _orders_with(self, key_bytes: bytes) -> tuple[TimeQueue, ...]:
        return (self._order,) if self._orders is None else (self._order, self._order_of(key_bytes))

    def _order_of(self, key_bytes: bytes) -> TimeQueue:
        return self._order_within(key_bytes[: len(key_bytes) - self._window_size])

    def _order_within(self, inner: bytes) -> TimeQueue:
        assert self._orders is not None
        if inner not in self._orders:
            self._orders[inner] = TimeQueue(self.contents, BY_KEY_AND_TIME + escape_key(inner))
        return self._orders[inner]

    def _count(self, records: int, size: int) -> None:
        if records or size:
            usage = self.usage()
            self.contents.put(USAGE, _USAGE.pack(usage.records + records, usage.bytes + size))

    def _load(self, key_bytes: bytes) -> StoredRow | None:
        raw = self.contents.get(ENTRY + key_bytes)
        return None if raw is None else _decode(raw)

    def _decode_row(self, key: K, row: StoredRow) -> BufferedRow[K, V]:
        read = self.value_serde.deserialize
        return BufferedRow(key, read(row.new), row.timestamp_ms, row.buffer_time_ms, read(row.prior), row.headers)


def row_size(
    key: bytes, prior: bytes | None, old: bytes | None, new: bytes | None, topic: str, headers: Headers
) -> int:
    """The size of a row as Kafka Streams counts it: `old` counts only if it differs from `prior`."""
    values = len(prior or b"") + (0 if old == prior else len(old or b"")) + len(new or b"")
    header_size = sum(_units(name) + len(value or b"") for name, value in headers)
    return _FIXED_SIZE + len(key) + values + _units(topic) + header_size


def _units(text: str) -> int:
    """The length of a text in Java, which counts UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
