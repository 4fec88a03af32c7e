"""Entries with a key and a time, which expire: the layer under window and session stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from headrace._state.bytes.api import ByteStore
from headrace._state.layouts.entries_by_key import EntriesByKey
from headrace._state.layouts.entries_in_segments import SegmentedEntries
from headrace._state.layouts.retention_clocks import CallerClock, KeyClock, RetentionClock


class ExpiringEntries(Protocol):
    """Values by key, time and a fixed number of further bytes, `rest`. Reads do not return expired entries.

    Iterators are lazy, and live as defined in `bytes/api.py`. They yield pairs of an entry key and a value. An entry
    key ends with the time and the further bytes.
    """

    def get(self, key: bytes, time_ms: int, rest: bytes = b"") -> bytes | None: ...

    def put(self, key: bytes, time_ms: int, rest: bytes, raw: bytes | None) -> None:
        """Writes a value, or deletes the entry if `raw` is `None`; does nothing if the entry would expire at once."""
        ...

    def of_key(self, key: bytes, from_ms: int, to_ms: int, *, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        """Entries of one key, by time; both ends are inclusive. With `reverse`, from the last to the first."""
        ...

    def of_keys(
        self, first: bytes | None, last: bytes | None, from_ms: int, to_ms: int, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Entries of the keys from `first` to `last`, by key, then time; all ends are inclusive, `None` is an open end.

        Here, the entry keys begin with the escaped key. With `reverse`, from the last to the first.
        """
        ...


class TimedEntries(ExpiringEntries, Protocol):
    """Entries without duplicates: one for each key, time and further bytes. Many can be written at once."""

    def entry_keys(self, keys: Sequence[bytes], times_ms: Sequence[int]) -> list[bytes]:
        """The entry keys of keys and times, for `put_many`, and to read entries directly from the byte store.

        `rest_size` must be 0, and a direct read does not check whether the entry has expired.
        """
        ...

    def put_many(self, times_ms: Sequence[int], entry_keys: Sequence[bytes], raws: Iterable[bytes]) -> None:
        """`put` for many entries, none of which would expire at once."""
        ...


def timed_entries(contents: ByteStore, clock: RetentionClock, *, rest_size: int = 0) -> TimedEntries:
    """Returns the layout that fits the clock; `rest_size` is the number of further bytes in each entry key."""
    if isinstance(clock, KeyClock | CallerClock):
        return EntriesByKey(contents, clock, rest_size)
    return SegmentedEntries(contents, clock, rest_size)
