"""Reads of one store in an LMDB transaction."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from headrace._state.bytes.api import prefix_end
from headrace._state.bytes.pages import Entry, pages
from headrace._state.replica import longkeys
from headrace._state.replica.longkeys import SHARED

_key = itemgetter(0)


class LmdbReader:
    """A `ByteReader` of one database of an LMDB transaction."""

    def __init__(self, txn: Any, database: Any, empty_slot: bytes) -> None:
        self._txn = txn
        self._fetch = txn.get
        self._database = database
        self._empty_slot = empty_slot

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None
        if 0 < len(key) < SHARED:
            value = self._fetch(key, None, self._database)
            return value
        if key:
            return longkeys.find(self._fetch(key[:SHARED], None, self._database), key)
        value = self._fetch(self._empty_slot)
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        # A loop of single gets: LMDB's own getmulti measures the same, and leaves out the keys that are missing.
        return list(map(self.get, keys))

    def range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        if not start and (end is None or end):
            value = self._fetch(self._empty_slot)
            if value is not None:
                yield b"", value
        with self._txn.cursor(self._database) as cursor:
            if not (cursor.set_range(start[:SHARED]) if start else cursor.first()):
                return
            for page in pages(cursor.iternext()):
                inside = page
                if end is not None and page[-1][0] >= end:
                    inside = page[: bisect_left(page, end, key=_key)]
                if max(map(len, map(_key, page))) < SHARED:
                    yield from inside
                else:
                    yield from _with_long_keys(inside, start, end)
                if len(inside) < len(page):
                    return

    def reverse_range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        if end == b"":
            return
        with self._txn.cursor(self._database) as cursor:
            for page in pages(cursor.iterprev()) if _seek_last(cursor, end) else ():
                inside = page
                if start and page[-1][0] < start[:SHARED]:
                    inside = [entry for entry in page if entry[0] >= start[:SHARED]]
                if max(map(len, map(_key, page))) < SHARED:
                    yield from inside
                else:
                    yield from _with_long_keys(inside, start, end, reverse=True)
                if len(inside) < len(page):
                    return
        if not start:
            value = self._fetch(self._empty_slot)
            if value is not None:
                yield b"", value

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self.range(prefix, prefix_end(prefix))

    def approximate_len(self) -> int:
        entries: int = self._txn.stat(self._database)["entries"]
        return entries + (self._fetch(self._empty_slot) is not None)


def _seek_last(cursor: Any, end: bytes | None) -> bool:
    """Moves to the last LMDB entry that may have keys less than `end`; returns whether there is one.

    One LMDB entry has several keys if they are longer than LMDB allows and begin with the same bytes.
    """
    found: bool
    if end is None or not cursor.set_range(end[:SHARED]):
        found = cursor.last()
    else:
        found = (len(end) > SHARED and cursor.key() == end[:SHARED]) or cursor.prev()
    return found


def _with_long_keys(
    entries: list[Entry], start: bytes | None, end: bytes | None, *, reverse: bool = False
) -> Iterator[Entry]:
    """Replaces each LMDB entry that long keys share with those keys from `start` (inclusive) to `end` (exclusive)."""
    for key, value in entries:
        if len(key) < SHARED:
            yield key, value
            continue
        shared = longkeys.decode_shared(value)
        for rest, long_value in reversed(shared) if reverse else shared:
            long_key = key + rest
            if (start is None or long_key >= start) and (end is None or long_key < end):
                yield long_key, long_value
