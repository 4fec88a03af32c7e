"""Entries by key and time of which all duplicates are kept: those of a key within a span of time are one list.

So the entries around a time are found by asking for one or two lists, without a search.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import ENTRY, SEGMENT_SIZE, beyond, escaped, leading_key, time_at, time_bytes
from headrace._state.layouts.clocks import UNKNOWN, KeyClock, RetentionClock
from headrace._state.layouts.growing_list import Entry, append, entries_from
from headrace._state.layouts.sweep import Sweep

_PUTS = 16  # every so often expired lists are removed: each time a search goes on, what was put since is sorted in
_SPANS = 16  # a retention has no more of them, give or take one
_SPAN = struct.Struct(">cQ")
_time = itemgetter(0)


def listed_entries(contents: ByteStore, clock: RetentionClock, window_size_ms: int) -> ListedEntries:
    """The layout that fits the clock; reads are expected to ask for about the size of a window."""
    kind = _ListsByKey if isinstance(clock, KeyClock) else ListsBySpan
    return kind(contents, clock, window_size_ms)


class ListedEntries(ABC):
    """Values by key and time, in the order of time, then arrival. See `Entries` for what the methods promise."""

    def __init__(self, contents: ByteStore, clock: RetentionClock, window_size_ms: int) -> None:
        self._contents = contents
        self._clock = clock
        self._observe = clock.observe
        self.retention_ms = clock.retention_ms
        # A store keeps the spans it began with, whatever retention it is given later.
        saved = contents.get(SEGMENT_SIZE)
        wanted_ms = max(window_size_ms, clock.retention_ms // _SPANS, 1)
        self.span_ms = wanted_ms if saved is None else time_at(saved, 0)
        self._is_new = saved is None
        self._writes = 0

    def get(self, key: bytes, time_ms: int, rest: bytes = b"") -> bytes | None:  # noqa: ARG002
        """The last of a time."""
        found = self.within(key, time_ms, time_ms)
        return found[-1][1] if found else None

    def put(self, key: bytes, time_ms: int, rest: bytes, raw: bytes | None) -> None:  # noqa: ARG002
        """Adds an entry; ignored if it would be expired at once, and with `None`, which could mean any of several."""
        if raw is None:
            return
        time_bytes(time_ms)  # refuses what is no time, before anything changes
        before = self._observe(key, time_ms)
        if time_ms <= before - self.retention_ms:
            return
        part = escaped(key)
        self._expire(part, before, time_ms)
        self._begin_write()
        append(self._contents, self._place(part, time_ms // self.span_ms), ((time_ms, raw),))

    def within(self, key: bytes, from_ms: int, to_ms: int) -> list[Entry]:
        """Times and values of one key from one time to another, both inclusive."""
        now = self._clock.time(key)
        from_ms, to_ms = max(from_ms, now - self.retention_ms + 1, 0), min(to_ms, now)
        if from_ms > to_ms:
            return []
        part, span_ms = escaped(key), self.span_ms
        found: list[Entry] = []
        for span in range(from_ms // span_ms, to_ms // span_ms + 1):
            place = self._place(part, span)
            raw = self._contents.get(place)
            if raw is not None:
                found += entries_from(self._contents, place, raw, from_ms)
        found = [entry for entry in found if from_ms <= entry[0] <= to_ms]
        found.sort(key=_time)
        return found

    def of_key(self, key: bytes, from_ms: int, to_ms: int) -> Iterator[tuple[bytes, bytes]]:
        part = escaped(key)
        entries: Iterator[Entry] = iter(())
        shown, writes_seen = 0, -1
        while True:
            if writes_seen != self._writes:
                writes_seen = self._writes
                ahead = self.within(key, from_ms, to_ms)
                # Of the time that was shown last, the first ones were; unless it has expired.
                known = shown if ahead and ahead[0][0] == from_ms else 0
                entries = iter(ahead[known:])
            entry = next(entries, None)
            if entry is None:
                return
            shown = shown + 1 if entry[0] == from_ms else 1
            from_ms = entry[0]
            yield part + time_bytes(from_ms), entry[1]

    def of_keys(
        self, first: bytes | None, last: bytes | None, from_ms: int, to_ms: int
    ) -> Iterator[tuple[bytes, bytes]]:
        low = b"" if first is None else escaped(first)
        end = None if last is None else beyond(escaped(last))
        while True:
            key = self._next_key(low, end)
            if key is None:
                return
            yield from self.of_key(key, from_ms, to_ms)
            low = beyond(escaped(key))

    def _begin_write(self) -> None:
        self._writes += 1
        if self._is_new:
            self._is_new = False
            self._contents.put(SEGMENT_SIZE, time_bytes(self.span_ms))

    @abstractmethod
    def _place(self, part: bytes, span: int) -> bytes:
        """Where the list of an escaped key lies."""

    @abstractmethod
    def _expire(self, part: bytes, before: int, time_ms: int) -> None:
        """Removes, at once or bit by bit, the lists that expire as time goes on from `before` with a put at a time."""

    @abstractmethod
    def _next_key(self, low: bytes, end: bytes | None) -> bytes | None:
        """The first key whose escaped form is not less than `low`, and less than `end`."""

    def _oldest_span(self, time_ms: int) -> int:
        return max(time_ms - self.retention_ms + 1, 0) // self.span_ms


class ListsBySpan(ListedEntries):
    """Where all keys share one clock: the span goes before the key, and what expires is the low end of the store."""

    def __init__(self, contents: ByteStore, clock: RetentionClock, window_size_ms: int) -> None:
        super().__init__(contents, clock, window_size_ms)
        self._sweep = Sweep(contents, ENTRY)
        self._next_expiry_ms = 0

    @property
    def time_ms(self) -> int:
        """The highest time put."""
        return self._clock.time(b"")

    def of_many(self, keys: Sequence[bytes], from_ms: int, to_ms: int) -> Iterator[tuple[int, int, bytes]]:
        """Entries of many keys: number of the key, time, value; of one key and time in the order they came."""
        now = self.time_ms
        first, last = self._oldest_span(now), now // self.span_ms
        first, last = max(first, from_ms // self.span_ms), min(last, to_ms // self.span_ms)
        for span in range(first, last + 1):
            prefix = _SPAN.pack(ENTRY, span)
            places = [prefix + escaped(key) for key in keys]
            for number, raw in enumerate(self._contents.get_many(places)):
                if raw is not None:
                    for time_ms, value in entries_from(self._contents, places[number], raw, from_ms):
                        yield number, time_ms, value

    def put_many(self, lists: Iterable[tuple[bytes, list[Entry]]], count: int, latest_ms: int) -> None:
        """`put` for so many entries, none of which would be expired at once; each list is of one key and span."""
        self._begin_expiry(self._observe(b"", latest_ms), latest_ms)
        if self._sweep.pending:
            self._sweep.step(count)
        self._begin_write()
        for key, entries in lists:
            append(self._contents, self._place(escaped(key), entries[0][0] // self.span_ms), entries)

    def _place(self, part: bytes, span: int) -> bytes:
        return _SPAN.pack(ENTRY, span) + part

    def _expire(self, part: bytes, before: int, time_ms: int) -> None:  # noqa: ARG002
        self._begin_expiry(before, time_ms)
        if self._sweep.pending and self._writes % _PUTS == 0:
            self._sweep.step(_PUTS)

    def _begin_expiry(self, before: int, time_ms: int) -> None:
        if time_ms > before and time_ms >= self._next_expiry_ms:
            oldest = self._oldest_span(time_ms)
            self._sweep.extend(_SPAN.pack(ENTRY, oldest))
            self._next_expiry_ms = (oldest + 1) * self.span_ms + self.retention_ms - 1

    def _next_key(self, low: bytes, end: bytes | None) -> bytes | None:
        now = self._clock.time(b"")
        keys = []
        for span in range(self._oldest_span(now), now // self.span_ms + 1):
            prefix = _SPAN.pack(ENTRY, span)
            stop = _SPAN.pack(ENTRY, span + 1) if end is None else prefix + end
            found = next(self._contents.range(prefix + low, stop), None)
            if found is not None:
                keys.append(leading_key(found[0][_SPAN.size :]))
        return min(keys, default=None)


class _ListsByKey(ListedEntries):
    """Where every key has a clock of its own: a put that moves it on removes what it makes expire."""

    def _place(self, part: bytes, span: int) -> bytes:
        return ENTRY + part + time_bytes(span)

    def _expire(self, part: bytes, before: int, time_ms: int) -> None:
        if before == UNKNOWN or time_ms <= before:
            return
        first, end = self._oldest_span(before), self._oldest_span(time_ms)
        if first < end:
            for place, _ in self._contents.range(self._place(part, first), self._place(part, end)):
                self._contents.delete(place)

    def _next_key(self, low: bytes, end: bytes | None) -> bytes | None:
        stop = bytes((ENTRY[0] + 1,)) if end is None else ENTRY + end
        found = next(self._contents.range(ENTRY + low, stop), None)
        return None if found is None else leading_key(found[0][1:])
