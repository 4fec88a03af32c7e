"""Entries that have a key and a time and expire: what window and session stores stand on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from headrace._state.bytes.api import ByteStore
from headrace._state.layouts.bykey import EntriesByKey
from headrace._state.layouts.clocks import KeyClock, RetentionClock, ToldClock
from headrace._state.layouts.segmented import SegmentedEntries


class Entries(Protocol):
    """Values by key, time and a fixed number of further bytes; expired ones read as absent.

    Iterators are lazy and live, as `api` defines. What they yield first ends in the time and the further bytes.
    """

    def get(self, key: bytes, time_ms: int, rest: bytes = b"") -> bytes | None: ...

    def put(self, key: bytes, time_ms: int, rest: bytes, raw: bytes | None) -> None:
        """Writes or, with `None`, deletes; ignored if it would be expired at once."""
        ...

    def of_key(self, key: bytes, from_ms: int, to_ms: int) -> Iterator[tuple[bytes, bytes]]:
        """Entries of one key by time, both ends inclusive."""
        ...

    def of_keys(
        self, first: bytes | None, last: bytes | None, from_ms: int, to_ms: int
    ) -> Iterator[tuple[bytes, bytes]]:
        """Entries by key, then time, all ends inclusive, `None` open; what they yield first starts with the key."""
        ...


class TimedEntries(Entries, Protocol):
    """Entries of which one is there for each key, time and further bytes; many can be written at once."""

    def places(self, keys: Sequence[bytes], times_ms: Sequence[int]) -> list[bytes]:
        """Where entries without further bytes lie, for `put_many` and reads that know them to be alive."""
        ...

    def put_many(self, times_ms: Sequence[int], places: Sequence[bytes], raws: Iterable[bytes]) -> None:
        """`put` for many entries, none of which would be expired at once."""
        ...


def timed_entries(contents: ByteStore, clock: RetentionClock, *, rest_size: int = 0) -> TimedEntries:
    """The layout that fits the clock."""
    if isinstance(clock, KeyClock | ToldClock):
        return EntriesByKey(contents, clock, rest_size)
    return SegmentedEntries(contents, clock, rest_size)
