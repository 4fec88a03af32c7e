"""Buffered records, including duplicates, in the order in which they will be emitted."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Generic, TypeVar, cast

import msgspec

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import BY_TIME, ENTRY, TIME_SIZE, USAGE, escape_key, time_at, unescape_key
from headrace._state.layouts.sequence_numbers import SEQUENCE_SIZE, SequenceNumbers
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.layouts.typed import TypedStore
from headrace.model.record import Headers, Record
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")

_COUNT = struct.Struct(">Q")


class _StoredRecord(msgspec.Struct, array_like=True, gc=False):
    value: bytes | None
    headers: Headers


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_StoredRecord).decode


class RecordBuffer(TypedStore[K], Generic[K, V]):
    """A store that buffers records, ordered by timestamp, then key bytes, then arrival.

    A stream-table join with a grace period holds each record in it until stream time reaches the record's timestamp
    plus the grace period. Records with equal keys and timestamps do not replace each other.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> buffer = RecordBuffer(MemoryStore(), serdes.String(), serdes.Long(), name="waiting")
        >>> for key, value, timestamp_ms in [("b", 1, 5), ("a", 2, 6), ("a", 3, 5), ("b", 4, 5)]:
        ...     buffer.put(Record(key, value, timestamp_ms))
        >>> [(record.key, record.value) for record in buffer.evict_until(5)], buffer.count()
        ([('a', 3), ('b', 1), ('b', 4)], 1)
    """

    def __init__(self, contents: ByteStore, key_serde: Serde[K], value_serde: Serde[V], *, name: str = "") -> None:
        super().__init__(contents, key_serde, value_serde, name=name)
        self._sequence_numbers = SequenceNumbers(contents)
        self._order = TimeQueue(contents, BY_TIME)

    def put(self, record: Record[K, V]) -> None:
        """Buffers a record."""
        assert record.timestamp_ms is not None
        number = self._sequence_numbers.next()
        stored = _StoredRecord(self.value_serde.serialize(record.value), record.headers)
        self.contents.put(ENTRY + number, _encode(stored))
        self._order.add(record.timestamp_ms, escape_key(self.key_bytes(record.key)) + number)
        self._count(1)

    def evict_until(self, last_ms: int) -> Iterator[Record[K, V]]:
        """Removes and yields the records whose timestamp is no later than `last_ms`, in order."""
        left = 0
        try:
            for timestamp_ms, entry_key in self._order.until(last_ms):
                record = self._record(timestamp_ms, entry_key)
                self._order.remove(timestamp_ms, entry_key)
                self.contents.delete(ENTRY + entry_key[-SEQUENCE_SIZE:])
                left += 1
                yield record
        finally:
            if left:
                self._count(-left)

    def oldest(self) -> tuple[K, int] | None:
        """Key and timestamp of the record that will be emitted first; `None` if the buffer is empty."""
        found = next(self.contents.prefix(BY_TIME), None)
        if found is None:
            return None
        return self._read_key(unescape_key(found[0][1 + TIME_SIZE : -SEQUENCE_SIZE])), time_at(found[0], 1)

    def count(self) -> int:
        """The number of buffered records."""
        raw = self.contents.get(USAGE)
        return 0 if raw is None else int(_COUNT.unpack(raw)[0])

    def all(self) -> Iterator[Record[K, V]]:
        """All records, in order."""
        for entry_key, _ in self.contents.prefix(BY_TIME):
            yield self._record(time_at(entry_key, 1), entry_key[1 + TIME_SIZE :])

    def _record(self, timestamp_ms: int, entry_key: bytes) -> Record[K, V]:
        raw = self.contents.get(ENTRY + entry_key[-SEQUENCE_SIZE:])
        assert raw is not None
        stored = _decode(raw)
        key: K = self._read_key(unescape_key(entry_key[:-SEQUENCE_SIZE]))
        value = cast("V", self.value_serde.deserialize(stored.value))
        return Record(key, value, timestamp_ms, stored.headers)

    def _count(self, more: int) -> None:
        self.contents.put(USAGE, _COUNT.pack(self.count() + more))
