"""Records of a join that have found no partner yet, in the order in which they are given up.

That order is by timestamp, then the right side before the left, then key bytes. Records of one side, key and timestamp
are one entry, a list. Each side is a queue of its own: of each, those given up are the first ones.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from heapq import merge
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from headrace._state.bytes.api import ByteStore, after
from headrace._state.bytes.composite import (
    BY_KEY_AND_TIME,
    BY_TIME,
    MAX_TIME,
    NEXT,
    TIME_SIZE,
    USAGE,
    escaped,
    time_at,
    time_bytes,
)
from headrace._state.layouts.time_queue import TimeQueue
from headrace._state.layouts.typed import TypedStore
from headrace.serdes import Serde
from headrace.serdes.sides import LEFT, RIGHT, SideValue

K = TypeVar("K")

_COUNT = struct.Struct(">Q")
_SIDES = (RIGHT, LEFT)
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[bytes]).decode


class Unjoined(NamedTuple, Generic[K]):
    """A record without a partner."""

    key: K
    value: Any
    timestamp_ms: int
    is_left: bool


class Waits(NamedTuple):
    """For how long after its timestamp a record of each side may still find a partner, in milliseconds."""

    right_ms: int
    left_ms: int


class UnjoinedStore(TypedStore[K], Generic[K]):
    """What waits, and from when on it is worth looking for what is given up: `next`, as Kafka Streams keeps it.

    With `each_key` the records of every key leave alone, and every key has a `next` of its own.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> from headrace.serdes.sides import Sides
        >>> store = UnjoinedStore(MemoryStore(), serdes.String(), Sides(serdes.String(), serdes.Long()))
        >>> store.add(b"k", "text", 5, is_left=True)
        >>> store.add(b"j", 7, 6, is_left=False)
        >>> store.waiting()
        2
        >>> [(row.key, row.value, row.timestamp_ms) for row in store.give_up(b"z", 16, Waits(10, 10))]
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
        super().__init__(key_serde, value_serde, name)
        self.contents = contents
        self._queues = tuple(TimeQueue(contents, BY_TIME + side) for side in _SIDES)
        self._queues_of: dict[bytes, tuple[TimeQueue, ...]] | None = {} if each_key else None
        # Only who writes may hold on to these: to a reader they can change at any moment.
        self._held_count: int | None = None
        self._held_next: int | None = None

    def add(self, key: bytes, value: Any, timestamp_ms: int, *, is_left: bool) -> None:
        """A record waits, under the bytes of its key."""
        raw = self._value_to_bytes(SideValue(value, is_left))
        assert raw is not None
        queue = self._queues[is_left]
        present = self.contents.get(queue.place(timestamp_ms, key))
        values = [] if present is None else _decode(present)
        queue.add(timestamp_ms, key, _encode([*values, raw]))
        if self._queues_of is not None and present is None:
            self._of_key(key)[is_left].add(timestamp_ms, b"")
        self._count(1)
        known_ms = self.next_ms(key)
        if known_ms is None or timestamp_ms < known_ms:
            self._put_next(key, timestamp_ms)

    def remove(self, key: bytes, timestamp_ms: int, *, is_left: bool) -> None:
        """Records of one side, key and timestamp have found a partner; there may be none that wait."""
        present = self.contents.get(self._queues[is_left].place(timestamp_ms, key))
        if present is not None:
            self._remove(key, timestamp_ms, is_left)
            self._count(-len(_decode(present)))

    def next_ms(self, key: bytes) -> int | None:
        """Before time is beyond this timestamp and the wait, nothing is given up; `None` when nothing waits."""
        if self._held_next is not None:
            return self._held_next
        raw = self.contents.get(self._next_place(key))
        return None if raw is None else time_at(raw, 0)

    def give_up(self, key: bytes, time_ms: int, waits: Waits) -> Iterator[Unjoined[K]]:
        """Records whose wait is over, in order; if each key has its own time, only those of this key.

        All must be taken. `next` is then the timestamp of the last entry that Kafka Streams looks at: it goes through
        all in order, and stops at the one behind the first of each side that must wait on.
        """
        last_ms = None
        due = [
            _sided(queue.until(time_ms - wait_ms - 1), is_left)
            for is_left, (queue, wait_ms) in enumerate(zip(self._waiting_of(key), waits, strict=True))
        ]
        for last_ms, is_left, found in merge(*due):
            yield from self._leaving(found if self._queues_of is None else key, last_ms, is_left)
        self._put_next(key, self._last_looked_at(key, last_ms, time_ms))

    def forget(self, key: bytes) -> list[Unjoined[K]]:
        """Removes all records of a key that has its own time, and returns them in order."""
        queues = self._of_key(key)
        every = merge(*(_sided(queue.until(MAX_TIME), is_left) for is_left, queue in enumerate(queues)))
        found = [row for at_ms, is_left, _ in every for row in self._leaving(key, at_ms, is_left)]
        self._put_next(key, None)
        return found

    def waiting(self) -> int:
        """How many records wait; without looking at them."""
        raw = self.contents.get(USAGE)
        count: int = 0 if raw is None else _COUNT.unpack(raw)[0]
        return count

    def oldest(self, *, is_left: bool) -> Unjoined[K] | None:
        """The first of one side, of all keys; without looking at the others."""
        return next(self._rows(is_left), None)

    def all(self) -> Iterator[Unjoined[K]]:
        """All records, in order."""
        return merge(*map(self._rows, (0, 1)), key=self.order)

    def order(self, row: Unjoined[K]) -> tuple[int, bool, bytes]:
        """By what records are ordered."""
        return row.timestamp_ms, row.is_left, self.key_bytes(row.key)

    def _rows(self, is_left: int) -> Iterator[Unjoined[K]]:
        prefix = BY_TIME + _SIDES[is_left]
        start = len(prefix) + TIME_SIZE
        for place, raw in self.contents.prefix(prefix):
            yield from self._shown(place[start:], time_at(place, len(prefix)), raw)

    def _leaving(self, key: bytes, timestamp_ms: int, is_left: int) -> Iterator[Unjoined[K]]:
        raw = self.contents.get(self._queues[is_left].place(timestamp_ms, key))
        assert raw is not None
        self._remove(key, timestamp_ms, is_left)
        self._count(-len(_decode(raw)))
        yield from self._shown(key, timestamp_ms, raw)

    def _shown(self, key: bytes, timestamp_ms: int, raw: bytes) -> Iterator[Unjoined[K]]:
        for stored in _decode(raw):
            value, is_left = self._read_value(stored)
            yield Unjoined(self._read_key(key), value, timestamp_ms, is_left)

    def _remove(self, key: bytes, timestamp_ms: int, is_left: int) -> None:
        self._queues[is_left].remove(timestamp_ms, key)
        if self._queues_of is not None:
            self._of_key(key)[is_left].remove(timestamp_ms, b"")

    def _last_looked_at(self, key: bytes, given_up_ms: int | None, time_ms: int) -> int | None:
        right, left = self._waiting_of(key)
        first_right, first_left = right.first(), left.first()
        if first_right is None or first_left is None:
            # With no more than one side there, nothing stops the look through all.
            ends = [right.latest_ms(time_ms), left.latest_ms(time_ms), given_up_ms]
            return max((end_ms for end_ms in ends if end_ms is not None), default=None)
        if first_left[0] >= first_right[0]:
            stop_ms, stop_key = first_left
            behind = [left.first_from(stop_ms, after(stop_key)), right.first_from(stop_ms + 1)]
        else:
            stop_ms, stop_key = first_right
            behind = [right.first_from(stop_ms, after(stop_key)), left.first_from(stop_ms)]
        return min((found[0] for found in behind if found is not None), default=stop_ms)

    def _waiting_of(self, key: bytes) -> tuple[TimeQueue, ...]:
        return self._queues if self._queues_of is None else self._of_key(key)

    def _of_key(self, key: bytes) -> tuple[TimeQueue, ...]:
        assert self._queues_of is not None
        if key not in self._queues_of:
            prefix = BY_KEY_AND_TIME + escaped(key)
            self._queues_of[key] = tuple(TimeQueue(self.contents, prefix + side) for side in _SIDES)
        return self._queues_of[key]

    def _next_place(self, key: bytes) -> bytes:
        return NEXT if self._queues_of is None else NEXT + key

    def _put_next(self, key: bytes, time_ms: int | None) -> None:
        if self._queues_of is None:
            self._held_next = time_ms
        if time_ms is None:
            self.contents.delete(self._next_place(key))
        else:
            self.contents.put(self._next_place(key), time_bytes(time_ms))

    def _count(self, more: int) -> None:
        count = self._held_count = (self.waiting() if self._held_count is None else self._held_count) + more
        self.contents.put(USAGE, _COUNT.pack(count))


def _sided(entries: Iterator[tuple[int, bytes]], is_left: int) -> Iterator[tuple[int, int, bytes]]:
    return ((time_ms, is_left, key) for time_ms, key in entries)
