"""Entries by key and time for stores in which all keys share one clock: a segment number comes before the key.

A segment is a span of time. So expired entries are the first in the store, a single entry is read without a search, and
the entries of one key within some time are a range in each of the few live segments.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge

from headrace._state.bytes.api import ByteStore, next_key
from headrace._state.bytes.composite import (
    ENTRY,
    SEGMENT_SIZE,
    TIME_SIZE,
    end_of_key,
    escape_key,
    time_at,
    time_bytes,
    time_range,
)
from headrace._state.layouts.gradual_removal import GradualRemoval
from headrace._state.layouts.retention_clocks import (
    UNKNOWN,
    RetentionClock,
    expires_at_ms,
    first_live_ms,
    last_expired_ms,
)

_Entries = Iterator[tuple[bytes, bytes]]

_SEGMENT = struct.Struct(">cQ")
_SMALLEST_SEGMENT_MS = 60_000


def segment_ms(retention_ms: int) -> int:
    """The length of a segment, as Kafka Streams chooses it: half the retention, but at least a minute."""
    return max(retention_ms // 2, _SMALLEST_SEGMENT_MS)


class SegmentedEntries:
    """Values by key, time and `rest_size` further bytes. See `TimedEntries` for what the methods promise."""

    def __init__(self, contents: ByteStore, clock: RetentionClock, rest_size: int) -> None:
        self._contents = contents
        self._clock = clock
        self._observe = clock.observe
        self._retention_ms = clock.retention_ms
        self._time_offset = -TIME_SIZE - rest_size
        # A store keeps its first segment length, because changing the retention must not move existing entries.
        saved = contents.get(SEGMENT_SIZE)
        self._segment_ms = segment_ms(clock.retention_ms) if saved is None else time_at(saved, 0)
        self._removal = GradualRemoval(contents, ENTRY)
        self._next_expiry_ms = 0
        self._writes = 0

    def get(self, key: bytes, time_ms: int, rest: bytes = b"") -> bytes | None:
        if time_ms <= last_expired_ms(self._clock.time(key), self._retention_ms) or time_ms < 0:
            return None
        return self._contents.get(self._entry_key(key, time_ms, rest))

    def put(self, key: bytes, time_ms: int, rest: bytes, raw: bytes | None) -> None:
        before = self._observe(key, time_ms)
        if time_ms <= last_expired_ms(before, self._retention_ms):
            return
        if time_ms > before and time_ms >= self._next_expiry_ms:
            self._expire(before, time_ms)
        if self._removal.pending:
            self._removal.step()
        self._writes += 1
        if raw is None:
            self._contents.delete(self._entry_key(key, time_ms, rest))
        else:
            self._contents.put(self._entry_key(key, time_ms, rest), raw)

    def entry_keys(self, keys: Sequence[bytes], times_ms: Sequence[int]) -> list[bytes]:
        return [self._entry_key(key, time_ms, b"") for key, time_ms in zip(keys, times_ms, strict=True)]

    def put_many(self, times_ms: Sequence[int], entry_keys: Sequence[bytes], raws: Iterable[bytes]) -> None:
        latest_ms = max(times_ms)
        before = self._observe(b"", latest_ms)
        if latest_ms > before and latest_ms >= self._next_expiry_ms:
            self._expire(before, latest_ms)
        for _ in entry_keys:
            if not self._removal.pending:
                break
            self._removal.step()
        self._writes += len(entry_keys)
        self._contents.put_many(zip(entry_keys, raws, strict=True))

    def of_key(self, key: bytes, from_ms: int, to_ms: int, *, reverse: bool = False) -> _Entries:
        return self._of_key_backward(key, from_ms, to_ms) if reverse else self._of_key_forward(key, from_ms, to_ms)

    def _of_key_forward(self, key: bytes, from_ms: int, to_ms: int) -> _Entries:
        part = escape_key(key)
        while True:
            now = self._clock.time(key)
            from_ms = max(from_ms, first_live_ms(now, self._retention_ms))
            if from_ms > min(to_ms, now):
                return
            segment = from_ms // self._segment_ms
            next_from_ms = (segment + 1) * self._segment_ms
            first, end = time_range(from_ms, min(to_ms, next_from_ms - 1))
            prefix = _SEGMENT.pack(ENTRY, segment) + part
            for entry_key, raw in self._contents.range(prefix + first, prefix + end):
                if self._is_alive(entry_key):
                    yield entry_key, raw
            from_ms = next_from_ms

    def _of_key_backward(self, key: bytes, from_ms: int, to_ms: int) -> _Entries:
        part = escape_key(key)
        while True:
            now = self._clock.time(key)
            to_ms = min(to_ms, now)
            oldest_ms = max(from_ms, first_live_ms(now, self._retention_ms))
            if oldest_ms > to_ms:
                return
            segment = to_ms // self._segment_ms
            start_ms = segment * self._segment_ms
            first, end = time_range(max(oldest_ms, start_ms), to_ms)
            prefix = _SEGMENT.pack(ENTRY, segment) + part
            for entry_key, raw in self._contents.reverse_range(prefix + first, prefix + end):
                if self._is_alive(entry_key):
                    yield entry_key, raw
            to_ms = start_ms - 1

    def of_keys(
        self, first: bytes | None, last: bytes | None, from_ms: int, to_ms: int, *, reverse: bool = False
    ) -> _Entries:
        low = b"" if first is None else escape_key(first)
        end = None if last is None else end_of_key(escape_key(last))
        entries: _Entries = iter(())
        writes_seen = -1
        while True:
            if self._writes != writes_seen:
                writes_seen = self._writes
                entries = merge(*self._segments(low, end, from_ms, to_ms, reverse=reverse), reverse=reverse)
            entry = next(entries, None)
            if entry is None:
                return
            tail, raw = entry
            if reverse:
                end = tail
            else:
                low = next_key(tail)
            if from_ms <= time_at(tail, self._time_offset) <= to_ms and self._is_alive(tail):
                yield tail, raw

    def _segments(
        self, low: bytes, end: bytes | None, from_ms: int, to_ms: int, *, reverse: bool
    ) -> Iterator[_Entries]:
        """For each live segment between `from_ms` and `to_ms`, yields an iterator over its entries from `low` to `end`.

        The entry keys have no segment number, so that the iterators can be merged by key; nor have `low` (inclusive)
        and `end` (exclusive). The entries may have any time within the segment.
        """
        now = self._clock.time(b"")
        oldest_ms = max(from_ms, first_live_ms(now, self._retention_ms))
        scan = self._contents.reverse_range if reverse else self._contents.range
        for segment in range(oldest_ms // self._segment_ms, min(to_ms, now) // self._segment_ms + 1):
            prefix = _SEGMENT.pack(ENTRY, segment)
            stop = _SEGMENT.pack(ENTRY, segment + 1) if end is None else prefix + end
            yield _without_segments(scan(prefix + low, stop))

    def _entry_key(self, key: bytes, time_ms: int, rest: bytes) -> bytes:
        moment = time_bytes(time_ms)
        return _SEGMENT.pack(ENTRY, time_ms // self._segment_ms) + escape_key(key) + moment + rest

    def _is_alive(self, entry_key: bytes) -> bool:
        return time_at(entry_key, self._time_offset) > last_expired_ms(self._clock.time(b""), self._retention_ms)

    def _expire(self, before: int, time_ms: int) -> None:
        if before == UNKNOWN:
            self._contents.put(SEGMENT_SIZE, time_bytes(self._segment_ms))
        oldest = first_live_ms(time_ms, self._retention_ms) // self._segment_ms
        self._removal.extend(_SEGMENT.pack(ENTRY, oldest))
        self._next_expiry_ms = expires_at_ms((oldest + 1) * self._segment_ms - 1, self._retention_ms)


def _without_segments(entries: _Entries) -> _Entries:
    return ((entry_key[_SEGMENT.size :], raw) for entry_key, raw in entries)
