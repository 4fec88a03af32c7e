"""Entries with a key and a time, which expire: the layer under window and session stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from headrace._state.bytes.api import ByteStore
from headrace._state.layouts.entries_by_key import EntriesByKey
from headrace._state.layouts.entries_in_segments import SegmentedEntries
from headrace._state.layouts.retention_clocks import CallerClock, KeyClock, RetentionClock


class ExpiringEntries(Protocol):
    """Values by key, time and a fixed number of further bytes; expired ones read as absent.

    Iterators are lazy and live, as `api` defines, and yield pairs of an entry key, which ends in the time and the
    further bytes, and a value.
    """

    def get(self, key: bytes, time_ms: int, rest: bytes = b"") -> bytes | None: ...

    def put(self, key: bytes, time_ms: int, rest: bytes, raw: bytes | None) -> None:
        """Writes a value, or with `None` deletes it; ignored if the entry would expire at once."""
        ...

    def of_key(self, key: bytes, from_ms: int, to_ms: int, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Entries of one key by time, both ends inclusive; in reverse, from the last to the first."""
        ...

    def of_keys(
        self, first: bytes | None, last: bytes | None, from_ms: int, to_ms: int, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Entries by key, then time, all ends inclusive, `None` open; here entry keys start with the escaped key.

        In reverse, from the last to the first.
        """
        ...


class TimedEntries(ExpiringEntries, Protocol):
    """Entries without duplicates: one for each key, time and further bytes. Many can be written at once."""

    def entry_keys(self, keys: Sequence[bytes], times_ms: Sequence[int]) -> list[bytes]:
        """The keys of entries without further bytes, for `put_many` and for reads of entries that are not expired."""
        ...

    def put_many(self, times_ms: Sequence[int], entry_keys: Sequence[bytes], raws: Iterable[bytes]) -> None:
        """`put` for many entries, none of which would expire at once."""
        ...


def timed_entries(contents: ByteStore, clock: RetentionClock, *, rest_size: int = 0) -> TimedEntries:
    """Chooses the layout that fits the clock."""
    if isinstance(clock, KeyClock | CallerClock):
        return EntriesByKey(contents, clock, rest_size)
    return SegmentedEntries(contents, clock, rest_size)
