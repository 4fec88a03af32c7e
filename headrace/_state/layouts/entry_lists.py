"""Entries by key and time, including duplicates: the entries of a key within a span of time form one list.

All spans of a store have the same length: at least the time that one read of a join covered when the store was new. So
a join reads one or two lists to get the entries around a time, without a search.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import (
    ENTRY,
    SEGMENT_SIZE,
    end_of_key,
    escape_key,
    read_leading_key,
    time_at,
    time_bytes,
)
from headrace._state.layouts.gradual_removal import GradualRemoval
from headrace._state.layouts.growing_list import TimedValue, append, entries_from
from headrace._state.layouts.retention_clocks import (
    UNKNOWN,
    KeyClock,
    RetentionClock,
    expires_at_ms,
    first_live_ms,
    last_expired_ms,
)

_PUTS = 16  # expired lists are removed once in this many puts: a removal first sorts the keys put since the last one
_SPANS = 16  # about how many spans there are in a retention
_SPAN = struct.Struct(">cQ")
_time = itemgetter(0)


def entry_lists(contents: ByteStore, clock: RetentionClock, window_size_ms: int) -> EntryLists:
    """Returns lists ordered by span, then key, if all keys share one clock; by key, then span, if each has its own.

    `window_size_ms` is about how much time one read covers. The span of a new store is at least as long, so that a read
    needs one or two lists, and at least a sixteenth of the retention. A store keeps the span that it began with.
    """
    kind = _ListsByKey if isinstance(clock, KeyClock) else ListsBySpan
    return kind(contents, clock, window_size_ms)


class EntryLists(ABC):
    """Values by key and time, in the order of time, then arrival. The methods are those of `ExpiringEntries`."""

    def __init__(self, contents: ByteStore, clock: RetentionClock, window_size_ms: int) -> None:
        self._contents = contents
        self._clock = clock
        self._observe = clock.observe
        self.retention_ms = clock.retention_ms
        # A store keeps its first span, because changing the retention must not move existing entries.
        saved = contents.get(SEGMENT_SIZE)
        wanted_ms = max(window_size_ms, clock.retention_ms // _SPANS, 1)
        self.span_ms = wanted_ms if saved is None else time_at(saved, 0)
        self._is_new = saved is None
        self._writes = 0

    def get(self, key: bytes, time_ms: int, rest: bytes = b"") -> bytes | None:  # noqa: ARG002
        """The last value put for a key and a time, or `None`."""
        found = self.within(key, time_ms, time_ms)
        return found[-1][1] if found else None

    def put(self, key: bytes, time_ms: int, rest: bytes, raw: bytes | None) -> None:  # noqa: ARG002
        """Adds an entry; does nothing if it would expire at once.

        A `raw` of `None` is ignored: it cannot say which of several entries to delete.
        """
        if raw is None:
            return
        time_bytes(time_ms)  # raises if it is not a time, before anything changes
        before = self._observe(key, time_ms)
        if time_ms <= last_expired_ms(before, self.retention_ms):
            return
        part = escape_key(key)
        self._expire(part, before, time_ms)
        self._begin_write()
        append(self._contents, self._entry_key(part, time_ms // self.span_ms), ((time_ms, raw),))

    def within(self, key: bytes, from_ms: int, to_ms: int) -> list[TimedValue]:
        """Times and values of one key from one time to another, both inclusive."""
        now = self._clock.time(key)
        from_ms, to_ms = max(from_ms, first_live_ms(now, self.retention_ms)), min(to_ms, now)
        if from_ms > to_ms:
            return []
        part, span_ms = escape_key(key), self.span_ms
        found: list[TimedValue] = []
        for span in range(from_ms // span_ms, to_ms // span_ms + 1):
            entry_key = self._entry_key(part, span)
            raw = self._contents.get(entry_key)
            if raw is not None:
                found += entries_from(self._contents, entry_key, raw, from_ms)
        found = [entry for entry in found if from_ms <= entry[0] <= to_ms]
        found.sort(key=_time)
        return found

    def of_key(self, key: bytes, from_ms: int, to_ms: int, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        return self._of_key_backward(key, from_ms, to_ms) if reverse else self._of_key_forward(key, from_ms, to_ms)

    def _of_key_forward(self, key: bytes, from_ms: int, to_ms: int) -> Iterator[tuple[bytes, bytes]]:
        part = escape_key(key)
        entries: Iterator[TimedValue] = iter(())
        yielded, writes_seen = 0, -1
        while True:
            if writes_seen != self._writes:
                writes_seen = self._writes
                ahead = self.within(key, from_ms, to_ms)
                # Skips the entries of the last time that were already yielded, unless that time has expired.
                known = yielded if ahead and ahead[0][0] == from_ms else 0
                entries = iter(ahead[known:])
            entry = next(entries, None)
            if entry is None:
                return
            yielded = yielded + 1 if entry[0] == from_ms else 1
            from_ms = entry[0]
            yield part + time_bytes(from_ms), entry[1]

    def _of_key_backward(self, key: bytes, from_ms: int, to_ms: int) -> Iterator[tuple[bytes, bytes]]:
        part = escape_key(key)
        ahead: list[TimedValue] = []
        left: int | None = None  # how many entries with the time that was yielded last are still to come
        writes_seen = -1
        while True:
            if writes_seen != self._writes:
                writes_seen = self._writes
                ahead = self.within(key, from_ms, to_ms)
                if left is not None:
                    del ahead[bisect_left(ahead, to_ms, key=_time) + left :]
            if not ahead:
                return
            to_ms, raw = ahead.pop()
            left = len(ahead) - bisect_left(ahead, to_ms, key=_time)
            yield part + time_bytes(to_ms), raw

    def of_keys(
        self, first: bytes | None, last: bytes | None, from_ms: int, to_ms: int, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        low = b"" if first is None else escape_key(first)
        end = None if last is None else end_of_key(escape_key(last))
        while True:
            key = self._find_key(low, end, reverse=reverse)
            if key is None:
                return
            yield from self.of_key(key, from_ms, to_ms, reverse=reverse)
            if reverse:
                end = escape_key(key)
            else:
                low = end_of_key(escape_key(key))

    def _begin_write(self) -> None:
        self._writes += 1
        if self._is_new:
            self._is_new = False
            self._contents.put(SEGMENT_SIZE, time_bytes(self.span_ms))

    @abstractmethod
    def _entry_key(self, part: bytes, span: int) -> bytes:
        """The key in the store of the list for an escaped key and the number of a span."""

    @abstractmethod
    def _expire(self, part: bytes, before: int, time_ms: int) -> None:
        """Removes the lists that have expired after a put at `time_ms`, all at once or a few at a time.

        `part` is the escaped key of the put, and `before` the time of the clock before it.
        """

    @abstractmethod
    def _find_key(self, low: bytes, end: bytes | None, *, reverse: bool) -> bytes | None:
        """The first key, or in reverse the last one, whose escaped form is not less than `low`, and less than `end`."""

    def _oldest_span(self, time_ms: int) -> int:
        return first_live_ms(time_ms, self.retention_ms) // self.span_ms


class ListsBySpan(EntryLists):
    """Lists for keys that share one clock: the span comes before the key, so expired lists are first in the store."""

    def __init__(self, contents: ByteStore, clock: RetentionClock, window_size_ms: int) -> None:
        super().__init__(contents, clock, window_size_ms)
        self._removal = GradualRemoval(contents, ENTRY)
        self._next_expiry_ms = 0

    @property
    def time_ms(self) -> int:
        """The highest time put."""
        return self._clock.time(b"")

    def of_many(self, keys: Sequence[bytes], from_ms: int, to_ms: int) -> Iterator[tuple[int, int, bytes]]:
        """Yields the entries of many keys: the index of the key in `keys`, the time and the value.

        It also yields other entries of the lists that it reads, before `from_ms` or after `to_ms`. Entries of one key
        and time come in the order of arrival.
        """
        now = self.time_ms
        first, last = self._oldest_span(now), now // self.span_ms
        first, last = max(first, from_ms // self.span_ms), min(last, to_ms // self.span_ms)
        for span in range(first, last + 1):
            prefix = _SPAN.pack(ENTRY, span)
            entry_keys = [prefix + escape_key(key) for key in keys]
            for number, raw in enumerate(self._contents.get_many(entry_keys)):
                if raw is not None:
                    for time_ms, value in entries_from(self._contents, entry_keys[number], raw, from_ms):
                        yield number, time_ms, value

    def put_many(self, lists: Iterable[tuple[bytes, list[TimedValue]]], count: int, latest_ms: int) -> None:
        """Adds entries, none of which would expire at once: pairs of a key and a list of its entries within one span.

        `count` is the number of all entries, `latest_ms` the time to which they advance the clock.
        """
        self._begin_expiry(self._observe(b"", latest_ms), latest_ms)
        if self._removal.pending:
            self._removal.step(count)
        self._begin_write()
        for key, entries in lists:
            append(self._contents, self._entry_key(escape_key(key), entries[0][0] // self.span_ms), entries)

    def _entry_key(self, part: bytes, span: int) -> bytes:
        return _SPAN.pack(ENTRY, span) + part

    def _expire(self, part: bytes, before: int, time_ms: int) -> None:  # noqa: ARG002
        self._begin_expiry(before, time_ms)
        if self._removal.pending and self._writes % _PUTS == 0:
            self._removal.step(_PUTS)

    def _begin_expiry(self, before: int, time_ms: int) -> None:
        if time_ms > before and time_ms >= self._next_expiry_ms:
            oldest = self._oldest_span(time_ms)
            self._removal.extend(_SPAN.pack(ENTRY, oldest))
            self._next_expiry_ms = expires_at_ms((oldest + 1) * self.span_ms - 1, self.retention_ms)

    def _find_key(self, low: bytes, end: bytes | None, *, reverse: bool) -> bytes | None:
        now = self._clock.time(b"")
        scan = self._contents.reverse_range if reverse else self._contents.range
        keys = []
        for span in range(self._oldest_span(now), now // self.span_ms + 1):
            prefix = _SPAN.pack(ENTRY, span)
            stop = _SPAN.pack(ENTRY, span + 1) if end is None else prefix + end
            found = next(scan(prefix + low, stop), None)
            if found is not None:
                keys.append(read_leading_key(found[0][_SPAN.size :]))
        return max(keys, default=None) if reverse else min(keys, default=None)


class _ListsByKey(EntryLists):
    """Lists for keys that each have a clock: a put that advances the clock of a key removes its expired lists."""

    def _entry_key(self, part: bytes, span: int) -> bytes:
        return ENTRY + part + time_bytes(span)

    def _expire(self, part: bytes, before: int, time_ms: int) -> None:
        if before == UNKNOWN or time_ms <= before:
            return
        first, end = self._oldest_span(before), self._oldest_span(time_ms)
        if first < end:
            for entry_key, _ in self._contents.range(self._entry_key(part, first), self._entry_key(part, end)):
                self._contents.delete(entry_key)

    def _find_key(self, low: bytes, end: bytes | None, *, reverse: bool) -> bytes | None:
        stop = bytes((ENTRY[0] + 1,)) if end is None else ENTRY + end
        scan = self._contents.reverse_range if reverse else self._contents.range
        found = next(scan(ENTRY + low, stop), None)
        return None if found is None else read_leading_key(found[0][1:])
