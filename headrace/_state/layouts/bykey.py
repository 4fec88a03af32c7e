"""Entries by key and time where every key has a clock of its own: all times of a key lie together.

Nothing can be removed for all keys at once; instead a put that moves a key's time on removes what it makes expire, or
the owner who keeps the times tells what to forget. What is there is therefore alive, and reads need no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import ENTRY, KEY_TIME, TIME_SIZE, beyond, clamped, escaped, time_at, time_bytes
from headrace._state.layouts.clocks import UNKNOWN, KeyClock, ToldClock

_FEW = 4  # places are asked for one by one, and more searched for


class EntriesByKey:
    """Values by key, time and `rest_size` further bytes. See `TimedEntries` for what the methods promise."""

    def __init__(self, contents: ByteStore, clock: KeyClock | ToldClock, rest_size: int) -> None:
        self._contents = contents
        self._clock = clock
        self._observe = clock.observe
        self._retention_ms = clock.retention_ms
        self._time_offset = -TIME_SIZE - rest_size

    def get(self, key: bytes, time_ms: int, rest: bytes = b"") -> bytes | None:
        return None if time_ms < 0 else self._contents.get(ENTRY + escaped(key) + time_bytes(time_ms) + rest)

    def put(self, key: bytes, time_ms: int, rest: bytes, raw: bytes | None) -> None:
        before = self._observe(key, time_ms)
        if time_ms <= before - self._retention_ms:
            return
        prefix = ENTRY + escaped(key)
        if time_ms > before > UNKNOWN:
            self._expire(prefix, before - self._retention_ms + 1, time_ms - self._retention_ms)
        place = prefix + time_bytes(time_ms) + rest
        if raw is None:
            self._contents.delete(place)
        else:
            self._contents.put(place, raw)

    def places(self, keys: Sequence[bytes], times_ms: Sequence[int]) -> list[bytes]:
        return [ENTRY + escaped(key) + time_bytes(time_ms) for key, time_ms in zip(keys, times_ms, strict=True)]

    def put_many(self, times_ms: Sequence[int], places: Sequence[bytes], raws: Iterable[bytes]) -> None:  # noqa: ARG002
        self._contents.put_many(zip(places, raws, strict=True))

    def forget(self, spans: Iterable[tuple[bytes, int, int]], step_ms: int) -> None:
        """Removes entries without further bytes: of each key, those of a span of times, both ends inclusive.

        All times ever put are multiples of `step_ms`.
        """
        expired: list[bytes] = []
        suspects: list[bytes] = []
        for key, from_ms, to_ms in spans:
            prefix = ENTRY + escaped(key)
            steps = range(-(-max(from_ms, 0) // step_ms) * step_ms, to_ms + 1, step_ms)
            if len(steps) <= _FEW:
                suspects += [prefix + time_bytes(time_ms) for time_ms in steps]
            else:
                expired += self._places_within(prefix, from_ms, to_ms)
        found = self._contents.get_many(suspects)
        expired += [place for place, raw in zip(suspects, found, strict=True) if raw is not None]
        # All at once: a delete between two searches would have the next one order what changed anew.
        self._contents.put_many((place, None) for place in expired)

    def of_key(self, key: bytes, from_ms: int, to_ms: int) -> Iterator[tuple[bytes, bytes]]:
        prefix = ENTRY + escaped(key)
        first, end = clamped(from_ms, to_ms)
        return self._contents.range(prefix + first, prefix + end)

    def of_keys(
        self, first: bytes | None, last: bytes | None, from_ms: int, to_ms: int
    ) -> Iterator[tuple[bytes, bytes]]:
        start = ENTRY if first is None else ENTRY + escaped(first)
        end = bytes((ENTRY[0] + 1,)) if last is None else beyond(ENTRY + escaped(last))
        for place, raw in self._contents.range(start, end):
            if from_ms <= time_at(place, self._time_offset) <= to_ms:
                yield place[1:], raw

    def _expire(self, prefix: bytes, from_ms: int, to_ms: int) -> None:
        for place in self._places_within(prefix, from_ms, to_ms):
            self._contents.delete(place)

    def _places_within(self, prefix: bytes, from_ms: int, to_ms: int) -> Iterator[bytes]:
        if to_ms < 0:
            return iter(())
        first, end = clamped(from_ms, to_ms)
        return (place for place, _ in self._contents.range(prefix + first, prefix + end))


def forget(contents: ByteStore, key: bytes) -> None:
    """Removes all entries of a key, and its clock: as if it had never been there."""
    part = ENTRY + escaped(key)
    for place, _ in contents.range(part, beyond(part)):
        contents.delete(place)
    contents.delete(KEY_TIME + key)
