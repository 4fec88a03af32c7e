"""The keys of all stores of a task in one order, so that a slice of the state is one interval of byte strings.

A full key is the store's name, a NUL and the key: names have no NUL, so full keys order by store, then key.
"""

from __future__ import annotations

from headrace._state.changes.delta import Delta

START = b""
END = b"\xff"  # greater than every full key: no UTF-8 name has this byte


def full_key(store: str, key: bytes) -> bytes:
    return store.encode() + b"\x00" + key


def key_bounds(store: str, low: bytes, high: bytes) -> tuple[bytes, bytes | None] | None:
    """The keys of a store between two full keys, as start (inclusive) and end (exclusive); `None` if there are none."""
    first, beyond = full_key(store, b""), store.encode() + b"\x01"
    if high <= first or low >= beyond:
        return None
    start = low[len(first) :] if low > first else b""
    return start, high[len(first) :] if high < beyond else None


def clip(delta: Delta, low: bytes, high: bytes) -> Delta:
    """The part of a delta from the full key `low` (inclusive) to `high` (exclusive)."""
    clipped: Delta = {}
    for store, columns in delta.items():
        bounds = key_bounds(store, low, high)
        if bounds is not None:
            clipped[store] = columns.between(*bounds)
    return clipped
