"""Records that wait for their time, duplicates among them, in the order in which they leave."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Generic, TypeVar, cast

import msgspec

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import BY_TIME, ENTRY, TIME_SIZE, USAGE, escaped, time_at, unescaped
from headrace._state.layouts.sequence import SEQUENCE_SIZE, Sequence
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.layouts.typed import TypedStore
from headrace.model.record import Headers, Record
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")

_COUNT = struct.Struct(">Q")


class _Held(msgspec.Struct, array_like=True, gc=False):
    value: bytes | None
    headers: Headers


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Held).decode


class RecordBuffer(TypedStore[K], Generic[K, V]):
    """Records by timestamp, then key bytes, then arrival.

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
        super().__init__(key_serde, value_serde, name)
        self.contents = contents
        self._sequence = Sequence(contents)
        self._order = TimeQueue(contents, BY_TIME)

    def put(self, record: Record[K, V]) -> None:
        """Holds a record back."""
        assert record.timestamp_ms is not None
        number = self._sequence.next()
        held = _Held(self.value_serde.serialize(record.value), record.headers)
        self.contents.put(ENTRY + number, _encode(held))
        self._order.add(record.timestamp_ms, escaped(self.key_bytes(record.key)) + number)
        self._count(1)

    def evict_until(self, last_ms: int) -> Iterator[Record[K, V]]:
        """Takes out the records whose timestamp is no later, in order."""
        left = 0
        try:
            for timestamp_ms, place in self._order.until(last_ms):
                record = self._record(timestamp_ms, place)
                self._order.remove(timestamp_ms, place)
                self.contents.delete(ENTRY + place[-SEQUENCE_SIZE:])
                left += 1
                yield record
        finally:
            if left:
                self._count(-left)

    def oldest(self) -> tuple[K, int] | None:
        """Key and timestamp of the first record in order; without looking at the others."""
        found = next(self.contents.prefix(BY_TIME), None)
        if found is None:
            return None
        return self._read_key(unescaped(found[0][1 + TIME_SIZE : -SEQUENCE_SIZE])), time_at(found[0], 1)

    def count(self) -> int:
        """How many records wait."""
        raw = self.contents.get(USAGE)
        return 0 if raw is None else int(_COUNT.unpack(raw)[0])

    def all(self) -> Iterator[Record[K, V]]:
        """All records, in order."""
        for place, _ in self.contents.prefix(BY_TIME):
            yield self._record(time_at(place, 1), place[1 + TIME_SIZE :])

    def _record(self, timestamp_ms: int, place: bytes) -> Record[K, V]:
        raw = self.contents.get(ENTRY + place[-SEQUENCE_SIZE:])
        assert raw is not None
        held = _decode(raw)
        key: K = self._read_key(unescaped(place[:-SEQUENCE_SIZE]))
        value = cast("V", self.value_serde.deserialize(held.value))
        return Record(key, value, timestamp_ms, held.headers)

    def _count(self, more: int) -> None:
        self.contents.put(USAGE, _COUNT.pack(self.count() + more))
