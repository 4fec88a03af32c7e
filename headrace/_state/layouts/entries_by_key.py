"""Entries by key and time for stores in which every key has its own clock: all entries of a key lie together.

Each key expires on its own: a put that advances the clock of a key removes the entries of this key that expire. With a
`CallerClock`, the caller removes them. So the store never holds an expired entry, and reads need no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import (
    ENTRY,
    KEY_TIME,
    TIME_SIZE,
    end_of_key,
    escape_key,
    time_at,
    time_bytes,
    time_range,
)
from headrace._state.layouts.retention_clocks import UNKNOWN, CallerClock, KeyClock, last_expired_ms

_FEW = 4  # in a span of at most this many entry keys, each is looked up; a longer span is scanned


class EntriesByKey:
    """Values by key, time and `rest_size` further bytes. See `TimedEntries` for what the methods promise."""

    def __init__(self, contents: ByteStore, clock: KeyClock | CallerClock, rest_size: int) -> None:
        self._contents = contents
        self._clock = clock
        self._observe = clock.observe
        self._retention_ms = clock.retention_ms
        self._time_offset = -TIME_SIZE - rest_size

    def get(self, key: bytes, time_ms: int, rest: bytes = b"") -> bytes | None:
        return None if time_ms < 0 else self._contents.get(ENTRY + escape_key(key) + time_bytes(time_ms) + rest)

    def put(self, key: bytes, time_ms: int, rest: bytes, raw: bytes | None) -> None:
        before = self._observe(key, time_ms)
        expired_before_ms = last_expired_ms(before, self._retention_ms)
        if time_ms <= expired_before_ms:
            return
        prefix = ENTRY + escape_key(key)
        if time_ms > before > UNKNOWN:
            self._expire(prefix, expired_before_ms + 1, last_expired_ms(time_ms, self._retention_ms))
        entry_key = prefix + time_bytes(time_ms) + rest
        if raw is None:
            self._contents.delete(entry_key)
        else:
            self._contents.put(entry_key, raw)

    def entry_keys(self, keys: Sequence[bytes], times_ms: Sequence[int]) -> list[bytes]:
        return [ENTRY + escape_key(key) + time_bytes(time_ms) for key, time_ms in zip(keys, times_ms, strict=True)]

    def put_many(self, times_ms: Sequence[int], entry_keys: Sequence[bytes], raws: Iterable[bytes]) -> None:  # noqa: ARG002
        self._contents.put_many(zip(entry_keys, raws, strict=True))

    def remove_spans(self, spans: Iterable[tuple[bytes, int, int]], step_ms: int) -> None:
        """Removes the entries of many keys. Each span is a key, the first time and the last time, both inclusive.

        All times in the store must be multiples of `step_ms`, and `rest_size` must be 0.
        """
        expired: list[bytes] = []
        suspects: list[bytes] = []
        for key, from_ms, to_ms in spans:
            prefix = ENTRY + escape_key(key)
            steps = range(-(-max(from_ms, 0) // step_ms) * step_ms, to_ms + 1, step_ms)
            if len(steps) <= _FEW:
                suspects += [prefix + time_bytes(time_ms) for time_ms in steps]
            else:
                expired += self._entry_keys_within(prefix, from_ms, to_ms)
        found = self._contents.get_many(suspects)
        expired += [entry_key for entry_key, raw in zip(suspects, found, strict=True) if raw is not None]
        # All at once, after all scans: a scan of an overlay first sorts the keys that changed since the last one.
        self._contents.put_many((entry_key, None) for entry_key in expired)

    def of_key(self, key: bytes, from_ms: int, to_ms: int, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        prefix = ENTRY + escape_key(key)
        first, end = time_range(from_ms, to_ms)
        scan = self._contents.reverse_range if reverse else self._contents.range
        return scan(prefix + first, prefix + end)

    def of_keys(
        self, first: bytes | None, last: bytes | None, from_ms: int, to_ms: int, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        start = ENTRY if first is None else ENTRY + escape_key(first)
        end = bytes((ENTRY[0] + 1,)) if last is None else end_of_key(ENTRY + escape_key(last))
        scan = self._contents.reverse_range if reverse else self._contents.range
        for entry_key, raw in scan(start, end):
            if from_ms <= time_at(entry_key, self._time_offset) <= to_ms:
                yield entry_key[1:], raw

    def _expire(self, prefix: bytes, from_ms: int, to_ms: int) -> None:
        for entry_key in self._entry_keys_within(prefix, from_ms, to_ms):
            self._contents.delete(entry_key)

    def _entry_keys_within(self, prefix: bytes, from_ms: int, to_ms: int) -> Iterator[bytes]:
        if to_ms < 0:
            return iter(())
        first, end = time_range(from_ms, to_ms)
        return (entry_key for entry_key, _ in self._contents.range(prefix + first, prefix + end))


def remove_key(contents: ByteStore, key: bytes) -> None:
    """Removes all entries of a key, and its clock."""
    part = ENTRY + escape_key(key)
    for entry_key, _ in contents.range(part, end_of_key(part)):
        contents.delete(entry_key)
    contents.delete(KEY_TIME + key)
