"""Maps the keys of a store to LMDB keys, which must have 1 to 511 bytes.

A key of 1 to 510 bytes is stored as it is. Longer keys that begin with the same 511 bytes share one LMDB entry: its key
is those 511 bytes, and its value lists the rest of each long key with that key's value. The order of the entries in
LMDB is the order of the keys in the store, because the first 511 bytes of a long key decide whether a shorter key comes
before it. The value of the empty key is stored outside the store's database, in its `empty_slot`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import msgspec

from headrace._state.changes.delta import Columns

SHARED = 511

_listing = msgspec.msgpack.Decoder(list[tuple[bytes, bytes]])


def decode_shared(raw: bytes) -> list[tuple[bytes, bytes]]:
    """The content of a shared LMDB entry: the rest of each key, in order, and its value."""
    return _listing.decode(raw)


def find(raw: bytes | None, key: bytes) -> bytes | None:
    """The value of a long key in a shared LMDB entry, whose value is `raw`; `None` if there is none."""
    if raw is None:
        return None
    entries, rest = decode_shared(raw), key[SHARED:]
    index = bisect_left(entries, rest, key=lambda entry: entry[0])
    return entries[index][1] if index < len(entries) and entries[index][0] == rest else None


def write(txn: Any, database: Any, empty_slot: bytes, columns: Columns, *, append: bool = False) -> None:
    """Puts and deletes keys in a transaction; with `append`, all keys must be greater than those in the database."""
    if not columns.keys:
        return
    if columns.keys[0] and max(map(len, columns.keys)) < SHARED:
        _write_plain(txn, database, columns, append)
        return
    if not columns.keys[0]:
        _set(txn, None, empty_slot, columns.values[0])
    # Keys that fit come first: a shared entry may be ordered after some of them, and LMDB appends only in order.
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
        entries = {**dict(decode_shared(raw) if raw is not None else ()), **changed}
        remaining = sorted((rest, value) for rest, value in entries.items() if value is not None)
        _set(txn, database, start, msgspec.msgpack.encode(remaining) if remaining else None)


def _set(txn: Any, database: Any, key: bytes, value: bytes | None) -> None:
    if value is None:
        txn.delete(key, db=database)
    else:
        txn.put(key, value, db=database)
