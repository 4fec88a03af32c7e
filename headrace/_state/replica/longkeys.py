"""How a store's keys become LMDB keys, which must have 1 to 511 bytes.

A key of 1 to 510 bytes is itself. Longer keys share, by their first 511 bytes, one LMDB entry that lists the rest of
each key with its value; every shorter key orders against them as it does against those 511 bytes, so LMDB's order is
the store's. The empty key has a slot of its own outside the store's database.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace._state.changes.delta import Columns

SHARED = 511

_listing = msgspec.msgpack.Decoder(list[tuple[bytes, bytes]])


def listed(raw: bytes) -> list[tuple[bytes, bytes]]:
    """The entries of a shared LMDB value: the rest of each key, in order, and its value."""
    return _listing.decode(raw)


def find(raw: bytes | None, key: bytes) -> bytes | None:
    """The value of a long key in the shared LMDB value stored at the key's first bytes."""
    if raw is None:
        return None
    entries, rest = listed(raw), key[SHARED:]
    index = bisect_left(entries, rest, key=lambda entry: entry[0])
    return entries[index][1] if index < len(entries) and entries[index][0] == rest else None


def write(txn: Any, database: Any, empty_slot: bytes, columns: Columns, *, append: bool = False) -> None:
    """Puts and deletes in a write transaction; `append` needs every key to lie beyond all that the database holds."""
    if not columns.keys:
        return
    if columns.keys[0] and max(map(len, columns.keys)) < SHARED:
        _write_plain(txn, database, columns, append)
        return
    if not columns.keys[0]:
        _set(txn, None, empty_slot, columns.values[0])
    # Plain keys first: a shared entry may order after them, which would break appending.
    plain = [change for change in zip(*columns, strict=True) if 0 < len(change[0]) < SHARED]
    _write_plain(txn, database, Columns([key for key, _ in plain], [value for _, value in plain]), append)
    _write_shared(txn, database, zip(*columns, strict=True))


def _write_plain(txn: Any, database: Any, columns: Columns, append: bool) -> None:
    puts: Iterable[tuple[bytes, bytes | None]] = zip(*columns, strict=True)
    if None in columns.values:
        changes = list(puts)
        puts = [change for change in changes if change[1] is not None]
        for key, value in changes:
            if value is None:
                txn.delete(key, db=database)
    with txn.cursor(database) as cursor:
        cursor.putmulti(puts, append=append)


def _write_shared(txn: Any, database: Any, changes: Iterable[tuple[bytes, bytes | None]]) -> None:
    by_start: dict[bytes, dict[bytes, bytes | None]] = {}
    for key, value in changes:
        if len(key) >= SHARED:
            by_start.setdefault(key[:SHARED], {})[key[SHARED:]] = value
    for start, changed in by_start.items():
        raw = txn.get(start, db=database)
        entries = {**dict(listed(raw) if raw is not None else ()), **changed}
        kept = sorted((rest, value) for rest, value in entries.items() if value is not None)
        _set(txn, database, start, msgspec.msgpack.encode(kept) if kept else None)


def _set(txn: Any, database: Any, key: bytes, value: bytes | None) -> None:
    if value is None:
        txn.delete(key, db=database)
    else:
        txn.put(key, value, db=database)
