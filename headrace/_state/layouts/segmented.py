"""Entries by key and time where all keys share one clock: a segment number goes before the key.

A segment is a span of time, so all that expires lies at the low end of the store, an entry is found without a search,
and a span of one key's times is a range in each of the few segments that are alive.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace

from headrace._state.bytes.api import ByteStore, after
from headrace._state.bytes.composite import (
    ENTRY,
    SEGMENT_SIZE,
    TIME_SIZE,
    beyond,
    clamped,
    escaped,
    time_at,
    time_bytes,
)
from headrace._state.layouts.clocks import UNKNOWN, RetentionClock
from headrace._state.layouts.sweep import Sweep

Entries = Iterator[tuple[bytes, bytes]]

_SEGMENT = struct.Struct(">cQ")
_SMALLEST_SEGMENT_MS = 60_000


def segment_ms(retention_ms: int) -> int:
    """Kafka Streams' choice: two or three segments are alive, and none is shorter than a minute."""
    return max(retention_ms // 2, _SMALLEST_SEGMENT_MS)


class SegmentedEntries:
    """Values by key, time and `rest_size` further bytes. See `TimedEntries` for what the methods promise."""

    def __init__(self, contents: ByteStore, clock: RetentionClock, rest_size: int) -> None:
        self._contents = contents
        self._clock = clock
        self._observe = clock.observe
        self._retention_ms = clock.retention_ms
        self._time_offset = -TIME_SIZE - rest_size
        # A store keeps the segments it began with, whatever retention it is given later.
        saved = contents.get(SEGMENT_SIZE)
        self._segment_ms = segment_ms(clock.retention_ms) if saved is None else time_at(saved, 0)
        self._sweep = Sweep(contents, ENTRY)
        self._next_expiry_ms = 0
        self._writes = 0

    def get(self, key: bytes, time_ms: int, rest: bytes = b"") -> bytes | None:
        if time_ms <= self._clock.time(key) - self._retention_ms or time_ms < 0:
            return None
        return self._contents.get(self._place(key, time_ms, rest))

    def put(self, key: bytes, time_ms: int, rest: bytes, raw: bytes | None) -> None:
        before = self._observe(key, time_ms)
        if time_ms <= before - self._retention_ms:
            return
        if time_ms > before and time_ms >= self._next_expiry_ms:
            self._expire(before, time_ms)
        if self._sweep.pending:
            self._sweep.step()
        self._writes += 1
        if raw is None:
            self._contents.delete(self._place(key, time_ms, rest))
        else:
            self._contents.put(self._place(key, time_ms, rest), raw)

    def places(self, keys: Sequence[bytes], times_ms: Sequence[int]) -> list[bytes]:
        return [self._place(key, time_ms, b"") for key, time_ms in zip(keys, times_ms, strict=True)]

    def put_many(self, times_ms: Sequence[int], places: Sequence[bytes], raws: Iterable[bytes]) -> None:
        latest_ms = max(times_ms)
        before = self._observe(b"", latest_ms)
        if latest_ms > before and latest_ms >= self._next_expiry_ms:
            self._expire(before, latest_ms)
        for _ in places:
            if not self._sweep.pending:
                break
            self._sweep.step()
        self._writes += len(places)
        self._contents.put_many(zip(places, raws, strict=True))

    def of_key(self, key: bytes, from_ms: int, to_ms: int) -> Entries:
        part = escaped(key)
        while True:
            now = self._clock.time(key)
            from_ms = max(from_ms, now - self._retention_ms + 1, 0)
            if from_ms > min(to_ms, now):
                return
            segment = from_ms // self._segment_ms
            next_from_ms = (segment + 1) * self._segment_ms
            first, end = clamped(from_ms, min(to_ms, next_from_ms - 1))
            prefix = _SEGMENT.pack(ENTRY, segment) + part
            for place, raw in self._contents.range(prefix + first, prefix + end):
                if self._is_alive(place):
                    yield place, raw
            from_ms = next_from_ms

    def of_keys(self, first: bytes | None, last: bytes | None, from_ms: int, to_ms: int) -> Entries:
        low = b"" if first is None else escaped(first)
        end = None if last is None else beyond(escaped(last))
        heads: list[tuple[bytes, bytes, Entries]] = []
        writes_seen = -1
        while True:
            if self._writes != writes_seen:
                writes_seen = self._writes
                heads = self._heads(low, end, from_ms, to_ms)
            if not heads:
                return
            tail, raw, entries = heads[0]
            following = next(entries, None)
            if following is None:
                heappop(heads)
            else:
                heapreplace(heads, (*following, entries))
            low = after(tail)
            if from_ms <= time_at(tail, self._time_offset) <= to_ms and self._is_alive(tail):
                yield tail, raw

    def _heads(self, low: bytes, end: bytes | None, from_ms: int, to_ms: int) -> list[tuple[bytes, bytes, Entries]]:
        """The first entry of each segment that is alive and within the times, as a heap, with those after it."""
        now = self._clock.time(b"")
        oldest_ms = max(from_ms, now - self._retention_ms + 1, 0)
        heads: list[tuple[bytes, bytes, Entries]] = []
        for segment in range(oldest_ms // self._segment_ms, min(to_ms, now) // self._segment_ms + 1):
            entries = self._tails(segment, low, end)
            heads.extend((*entry, entries) for entry in [next(entries, None)] if entry is not None)
        heapify(heads)
        return heads

    def _tails(self, segment: int, low: bytes, end: bytes | None) -> Entries:
        prefix = _SEGMENT.pack(ENTRY, segment)
        stop = _SEGMENT.pack(ENTRY, segment + 1) if end is None else prefix + end
        return ((place[_SEGMENT.size :], raw) for place, raw in self._contents.range(prefix + low, stop))

    def _place(self, key: bytes, time_ms: int, rest: bytes) -> bytes:
        moment = time_bytes(time_ms)
        return _SEGMENT.pack(ENTRY, time_ms // self._segment_ms) + escaped(key) + moment + rest

    def _is_alive(self, place: bytes) -> bool:
        return time_at(place, self._time_offset) > self._clock.time(b"") - self._retention_ms

    def _expire(self, before: int, time_ms: int) -> None:
        if before == UNKNOWN:
            self._contents.put(SEGMENT_SIZE, time_bytes(self._segment_ms))
        oldest = max(time_ms - self._retention_ms + 1, 0) // self._segment_ms
        self._sweep.extend(_SEGMENT.pack(ENTRY, oldest))
        self._next_expiry_ms = (oldest + 1) * self._segment_ms + self._retention_ms - 1
