"""The unmatched records of a join, in the order in which they are emitted.

That order is by timestamp, then the right side before the left, then key bytes. Records of the same side, key and
timestamp are one entry, a list. Each side has its own queue, because a record of one side may have to wait longer than
one of the other: so the records whose wait is over are always the first of a queue.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from heapq import merge
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from headrace._state.bytes.api import ByteStore, next_key
from headrace._state.bytes.composite import (
    BY_KEY_AND_TIME,
    BY_TIME,
    MAX_TIME,
    NEXT,
    TIME_SIZE,
    USAGE,
    escape_key,
    time_at,
    time_bytes,
)
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.layouts.typed import TypedStore
from headrace.serdes import Serde
from headrace.serdes.wrapping.sides import LEFT, RIGHT, SideValue

K = TypeVar("K")

_COUNT = struct.Struct(">Q")
_SIDES = (RIGHT, LEFT)
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[bytes]).decode


class UnmatchedRecord(NamedTuple, Generic[K]):
    """An unmatched record of either side."""

    key: K
    value: Any
    timestamp_ms: int
    is_left: bool


class Waits(NamedTuple):
    """How long after its timestamp a record of each side may still be matched, in milliseconds."""

    right_ms: int
    left_ms: int

    def due_ms(self, timestamp_ms: int, *, is_left: bool) -> int:
        """The earliest stream time at which an unmatched record of one side is due."""
        return timestamp_ms + self[is_left] + 1

    def last_due_ms(self, time_ms: int, *, is_left: bool) -> int:
        """Unmatched records of one side up to this timestamp are due at stream time `time_ms`."""
        return time_ms - self[is_left] - 1


class UnmatchedStore(TypedStore[K], Generic[K]):
    """Unmatched records, and `next`, the timestamp that decides when to look again for records to emit.

    Kafka Streams has such a timestamp too, and does not always set it to that of the earliest record (see `evict_due`).
    With another rule records would be emitted at other times, so this store follows that rule exactly, and saves `next`
    so that a restart changes nothing. With `each_key`, the records of each key are emitted independently of other keys,
    and each key has its own `next`.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> from headrace.serdes.wrapping.sides import Sides
        >>> store = UnmatchedStore(MemoryStore(), serdes.String(), Sides(serdes.String(), serdes.Long()))
        >>> store.add(b"k", "text", 5, is_left=True)
        >>> store.add(b"j", 7, 6, is_left=False)
        >>> store.count()
        2
        >>> [(row.key, row.value, row.timestamp_ms) for row in store.evict_due(b"z", 16, Waits(10, 10))]
        [('k', 'text', 5)]
    """

    def __init__(
        self,
        contents: ByteStore,
        key_serde: Serde[K],
        value_serde: Serde[SideValue],
        *,
        each_key: bool = False,
        name: str = "",
    ) -> None:
        super().__init__(contents, key_serde, value_serde, name=name)
        self._queues = tuple(TimeQueue(contents, BY_TIME + side) for side in _SIDES)
        self._queues_by_key: dict[bytes, tuple[TimeQueue, ...]] | None = {} if each_key else None
        # Cached only by a writer: for a reader, the stored values may change between two reads.
        self._cached_count: int | None = None
        self._cached_next: int | None = None

    def add(self, key: bytes, value: Any, timestamp_ms: int, *, is_left: bool) -> None:
        """Adds a record; `key` is serialized."""
        raw = self._value_to_bytes(SideValue(value, is_left))
        assert raw is not None
        queue = self._queues[is_left]
        present = self.contents.get(queue.entry_key(timestamp_ms, key))
        values = [] if present is None else _decode(present)
        queue.add(timestamp_ms, key, _encode([*values, raw]))
        if self._queues_by_key is not None and present is None:
            self._key_queues(key)[is_left].add(timestamp_ms, b"")
        self._count(1)
        known_ms = self.next_ms(key)
        if known_ms is None or timestamp_ms < known_ms:
            self._put_next(key, timestamp_ms)

    def remove(self, key: bytes, timestamp_ms: int, *, is_left: bool) -> None:
        """Removes the records of one side, serialized key and timestamp, if any, because they have been matched."""
        present = self.contents.get(self._queues[is_left].entry_key(timestamp_ms, key))
        if present is not None:
            self._remove(key, timestamp_ms, is_left)
            self._count(-len(_decode(present)))

    def next_ms(self, key: bytes) -> int | None:
        """The timestamp `next`: no record is emitted until stream time is later than this plus the wait.

        It is `None` only if there are no records.
        """
        if self._cached_next is not None:
            return self._cached_next
        raw = self.contents.get(self._next_entry_key(key))
        return None if raw is None else time_at(raw, 0)

    def evict_due(self, key: bytes, time_ms: int, waits: Waits) -> Iterator[UnmatchedRecord[K]]:
        """Removes and yields the records whose wait is over, in order; with `each_key`, only those of this key.

        `time_ms` is the stream time. The caller must exhaust the iterator: at its end, `next` becomes the timestamp of
        the last record that Kafka Streams would visit. Kafka Streams visits all records in order until it has met one
        of each side that must still wait, and stops at the record after those, which may be the next of the same entry.
        """
        last_ms = None
        due = [
            _with_side(queue.until(waits.last_due_ms(time_ms, is_left=bool(is_left))), is_left)
            for is_left, queue in enumerate(self._queues_for(key))
        ]
        for last_ms, is_left, found in merge(*due):
            yield from self._evict(self._full_key(key, found), last_ms, is_left)
        self._put_next(key, self._next_after_eviction(key, last_ms, time_ms))

    def evict_key(self, key: bytes) -> list[UnmatchedRecord[K]]:
        """Removes all records of a serialized key, and returns them in order; needs `each_key`."""
        queues = self._key_queues(key)
        every = merge(*(_with_side(queue.until(MAX_TIME), is_left) for is_left, queue in enumerate(queues)))
        found = [row for at_ms, is_left, _ in every for row in self._evict(key, at_ms, is_left)]
        self._put_next(key, None)
        return found

    def count(self) -> int:
        """The number of unmatched records; does not read them."""
        raw = self.contents.get(USAGE)
        count: int = 0 if raw is None else _COUNT.unpack(raw)[0]
        return count

    def oldest(self, *, is_left: bool) -> UnmatchedRecord[K] | None:
        """The first record of one side, of all keys; does not read the others."""
        return next(self._rows(is_left), None)

    def all(self) -> Iterator[UnmatchedRecord[K]]:
        """All records, in order."""
        return merge(*map(self._rows, (0, 1)), key=self.order)

    def order(self, row: UnmatchedRecord[K]) -> tuple[int, bool, bytes]:
        """The sort key of a record."""
        return row.timestamp_ms, row.is_left, self.key_bytes(row.key)

    def _rows(self, is_left: int) -> Iterator[UnmatchedRecord[K]]:
        prefix = BY_TIME + _SIDES[is_left]
        start = len(prefix) + TIME_SIZE
        for entry_key, raw in self.contents.prefix(prefix):
            yield from self._decode_records(entry_key[start:], time_at(entry_key, len(prefix)), raw)

    def _evict(self, key: bytes, timestamp_ms: int, is_left: int) -> Iterator[UnmatchedRecord[K]]:
        raw = self.contents.get(self._queues[is_left].entry_key(timestamp_ms, key))
        assert raw is not None
        self._remove(key, timestamp_ms, is_left)
        self._count(-len(_decode(raw)))
        yield from self._decode_records(key, timestamp_ms, raw)

    def _decode_records(self, key: bytes, timestamp_ms: int, raw: bytes) -> Iterator[UnmatchedRecord[K]]:
        for stored in _decode(raw):
            value, is_left = self._read_value(stored)
            yield UnmatchedRecord(self._read_key(key), value, timestamp_ms, is_left)

    def _remove(self, key: bytes, timestamp_ms: int, is_left: int) -> None:
        self._queues[is_left].remove(timestamp_ms, key)
        if self._queues_by_key is not None:
            self._key_queues(key)[is_left].remove(timestamp_ms, b"")

    def _next_after_eviction(self, key: bytes, evicted_ms: int | None, time_ms: int) -> int | None:
        right, left = self._queues_for(key)
        first_right, first_left = right.first(), left.first()
        if first_right is None or first_left is None:
            # With records of only one side, or none, Kafka Streams visits all entries.
            ends = [right.latest_ms(time_ms), left.latest_ms(time_ms), evicted_ms]
            return max((end_ms for end_ms in ends if end_ms is not None), default=None)
        is_left = first_left[0] >= first_right[0]
        stop_ms, stop_key = first_left if is_left else first_right
        stop = self.contents.get(self._queues[is_left].entry_key(stop_ms, self._full_key(key, stop_key)))
        assert stop is not None
        if len(_decode(stop)) > 1:
            return stop_ms
        if is_left:
            behind = [left.first_from(stop_ms, next_key(stop_key)), right.first_from(stop_ms + 1)]
        else:
            behind = [right.first_from(stop_ms, next_key(stop_key)), left.first_from(stop_ms)]
        return min((found[0] for found in behind if found is not None), default=stop_ms)

    def _full_key(self, key: bytes, found: bytes) -> bytes:
        """The serialized key of an entry. `found` is the key in its queue: empty in the queues of a single key."""
        return found if self._queues_by_key is None else key

    def _queues_for(self, key: bytes) -> tuple[TimeQueue, ...]:
        return self._queues if self._queues_by_key is None else self._key_queues(key)

    def _key_queues(self, key: bytes) -> tuple[TimeQueue, ...]:
        assert self._queues_by_key is not None
        if key not in self._queues_by_key:
            prefix = BY_KEY_AND_TIME + escape_key(key)
            self._queues_by_key[key] = tuple(TimeQueue(self.contents, prefix + side) for side in _SIDES)
        return self._queues_by_key[key]

    def _next_entry_key(self, key: bytes) -> bytes:
        return NEXT if self._queues_by_key is None else NEXT + key

    def _put_next(self, key: bytes, time_ms: int | None) -> None:
        if self._queues_by_key is None:
            self._cached_next = time_ms
        if time_ms is None:
            self.contents.delete(self._next_entry_key(key))
        else:
            self.contents.put(self._next_entry_key(key), time_bytes(time_ms))

    def _count(self, more: int) -> None:
        count = self._cached_count = (self.count() if self._cached_count is None else self._cached_count) + more
        self.contents.put(USAGE, _COUNT.pack(count))


def _with_side(entries: Iterator[tuple[int, bytes]], is_left: int) -> Iterator[tuple[int, int, bytes]]:
    return ((time_ms, is_left, key) for time_ms, key in entries)
