"""The rows a suppressed table holds back: one per key, in the order in which they may leave.

A row keeps the buffer time of its first update, so it cannot be held back forever by new ones. All there is to know is
in the store: the rows by key, their order, how many there are and how many bytes they count.
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
    escaped,
    time_at,
    time_bytes,
)
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.layouts.typed import TypedStore
from headrace.model.record import Change, Headers, Record
from headrace.serdes import Serde, SessionWindowed, Windowed

K = TypeVar("K")
V = TypeVar("V")

_USAGE = struct.Struct(">QQ")
_FIXED_SIZE = 8 + 8 + 8 + 4  # buffer time, timestamp, offset, partition


class Buffered(NamedTuple, Generic[K, V]):
    """A row that waits: its last update, and the value downstream knows of it."""

    key: K
    value: V | None
    timestamp_ms: int
    buffer_time_ms: int
    prior: V | None
    headers: Headers


class Usage(NamedTuple):
    """How many rows wait, and the bytes they count."""

    records: int
    bytes: int


class HeldRow(msgspec.Struct, array_like=True, gc=False):
    """A row as it is stored; `size` is what it counts."""

    buffer_time_ms: int
    size: int
    timestamp_ms: int
    prior: bytes | None
    new: bytes | None
    headers: Headers


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(HeldRow).decode


class SuppressBuffer(TypedStore[K], Generic[K, V]):
    """Rows ordered by buffer time, then key bytes; with `each_key`, those of a key (of all its windows) leave alone.

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
        super().__init__(key_serde, value_serde, name)
        self.contents = contents
        self._order = TimeQueue(contents, BY_TIME)
        self._orders: dict[bytes, TimeQueue] | None = {} if each_key else None
        self._window_size = key_serde.suffix_size if isinstance(key_serde, Windowed | SessionWindowed) else 0

    def put(self, record: Record[K, Change[V]], buffer_time_ms: int, *, topic: str) -> None:
        """Holds a change back; one of a row that waits takes its place in the order."""
        assert record.timestamp_ms is not None
        key_bytes = self.key_bytes(record.key)
        old, new = self._value_to_bytes(record.value.old), self._value_to_bytes(record.value.new)
        present = self._stored(key_bytes)
        prior = old if present is None else present.prior
        size = row_size(key_bytes, prior, old, new, topic, record.headers)
        time_ms = buffer_time_ms if present is None else present.buffer_time_ms
        row = HeldRow(time_ms, size, record.timestamp_ms, prior, new, record.headers)
        self.contents.put(ENTRY + key_bytes, _encode(row))
        if present is None:
            for order in self._orders_of(key_bytes):
                order.add(time_ms, key_bytes)
            self._count(1, size)
        else:
            self._count(0, size - present.size)

    def get(self, key: K) -> Buffered[K, V] | None:
        """The row of a key, if it waits."""
        row = self._stored(self.key_bytes(key))
        return None if row is None else self._shown(key, row)

    def evict_due(self, key: K, last_ms: int) -> Iterator[Buffered[K, V]]:
        """Rows whose buffer time is no later, in order; if each key has its own time, only those of this key.

        A row leaves when the next one is asked for: while it is handled, others still see it wait.
        """
        order = self._order if self._orders is None else self._order_of(self.key_bytes(key))
        for _, key_bytes in order.until(last_ms):
            yield from self._leaving(key_bytes)

    def evict_key(self, inner: bytes) -> Iterator[Buffered[K, V]]:
        """All rows of a key that has its own time, in order; `inner` are its bytes, without a window."""
        for _, key_bytes in self._order_within(inner).until(MAX_TIME):
            yield from self._leaving(key_bytes)

    def evict_while(self, wanted: Callable[[], bool]) -> Iterator[Buffered[K, V]]:
        """The rows of all keys, in order, for as long as it is wanted; they leave as with `evict_due`."""
        while wanted():
            first = self._order.first()
            if first is None:
                return
            yield from self._leaving(first[1])

    def rows_of(self, keys: Sequence[bytes]) -> list[HeldRow | None]:
        """The rows that wait under keys in bytes, in their order."""
        found = self.contents.get_many([ENTRY + key_bytes for key_bytes in keys])
        return [None if raw is None else _decode(raw) for raw in found]

    def due(self, last_ms: int, inner: bytes | None = None) -> list[bytes]:
        """Keys in bytes of rows whose buffer time is no later, in order; all, or those of one inner key."""
        if last_ms < 0:
            return []
        prefix = BY_TIME if inner is None else BY_KEY_AND_TIME + escaped(inner)
        end = prefix + time_bytes(last_ms + 1)
        return [place[len(prefix) + TIME_SIZE :] for place, _ in self.contents.range(prefix, end)]

    def hold_many(self, rows: Iterable[tuple[bytes, HeldRow, HeldRow | None]]) -> None:
        """Puts rows under keys in bytes, each in the place of the one that waits there, if any does."""
        records = size = 0
        for key_bytes, row, present in rows:
            self.contents.put(ENTRY + key_bytes, _encode(row))
            size += row.size
            if present is None:
                records += 1
                for order in self._orders_of(key_bytes):
                    order.add(row.buffer_time_ms, key_bytes)
            else:
                size -= present.size
        self._count(records, size)

    def release_many(self, rows: Iterable[tuple[bytes, HeldRow]]) -> None:
        """Takes rows out."""
        records = size = 0
        for key_bytes, row in rows:
            self._remove(key_bytes, row)
            records += 1
            size += row.size
        self._count(-records, -size)

    def usage(self) -> Usage:
        """How many rows wait, and the bytes they count; without looking at them."""
        raw = self.contents.get(USAGE)
        return Usage(0, 0) if raw is None else Usage(*_USAGE.unpack(raw))

    def oldest(self) -> tuple[K, int] | None:
        """Key and buffer time of the first row in order; without looking at the others."""
        found = next(self.contents.prefix(BY_TIME), None)
        return None if found is None else (self._read_key(found[0][1 + TIME_SIZE :]), time_at(found[0], 1))

    def all(self) -> Iterator[Buffered[K, V]]:
        """All rows, in order."""
        for place, _ in self.contents.prefix(BY_TIME):
            key_bytes = place[1 + TIME_SIZE :]
            row = self._stored(key_bytes)
            if row is not None:
                yield self._shown(self._read_key(key_bytes), row)

    def _leaving(self, key_bytes: bytes) -> Iterator[Buffered[K, V]]:
        row = self._stored(key_bytes)
        assert row is not None
        yield self._shown(self._read_key(key_bytes), row)
        self._remove(key_bytes, row)
        self._count(-1, -row.size)

    def _remove(self, key_bytes: bytes, row: HeldRow) -> None:
        self.contents.delete(ENTRY + key_bytes)
        for order in self._orders_of(key_bytes):
            order.remove(row.buffer_time_ms, key_bytes)

    def _orders_of(self, key_bytes: bytes) -> tuple[TimeQueue, ...]:
        return (self._order,) if self._orders is None else (self._order, self._order_of(key_bytes))

    def _order_of(self, key_bytes: bytes) -> TimeQueue:
        return self._order_within(key_bytes[: len(key_bytes) - self._window_size])

    def _order_within(self, inner: bytes) -> TimeQueue:
        assert self._orders is not None
        if inner not in self._orders:
            self._orders[inner] = TimeQueue(self.contents, BY_KEY_AND_TIME + escaped(inner))
        return self._orders[inner]

    def _count(self, records: int, size: int) -> None:
        if records or size:
            usage = self.usage()
            self.contents.put(USAGE, _USAGE.pack(usage.records + records, usage.bytes + size))

    def _stored(self, key_bytes: bytes) -> HeldRow | None:
        raw = self.contents.get(ENTRY + key_bytes)
        return None if raw is None else _decode(raw)

    def _shown(self, key: K, row: HeldRow) -> Buffered[K, V]:
        read = self.value_serde.deserialize
        return Buffered(key, read(row.new), row.timestamp_ms, row.buffer_time_ms, read(row.prior), row.headers)


def row_size(
    key: bytes, prior: bytes | None, old: bytes | None, new: bytes | None, topic: str, headers: Headers
) -> int:
    """What a row counts in Kafka Streams: the replaced value only if it is another than the one downstream knows."""
    values = len(prior or b"") + (0 if old == prior else len(old or b"")) + len(new or b"")
    told = sum(_units(name) + len(value or b"") for name, value in headers)
    return _FIXED_SIZE + len(key) + values + _units(topic) + told


def _units(text: str) -> int:
    """How long Java says a text is."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2
