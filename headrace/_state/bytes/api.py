"""The byte-level interface under every typed store, implemented by memory, overlay and replica.

Keys order as unsigned byte strings. Iterators are live: each step yields the smallest key after the last one that is
in the store at that moment, with its current value; in reverse, the greatest key before the last one. So a store may be
written during an iteration, which sees the writes that lie ahead of it, no matter which part of the store an earlier
batch has written. A snapshot never changes, so its iterators are trivially live.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol


class ByteReader(Protocol):
    """Reads of the byte strings of one store, in the order of the keys as unsigned byte strings."""

    def get(self, key: bytes) -> bytes | None:
        """Returns the value of a key, or `None`."""
        ...

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """`get` for every key; the values are in the order of the keys."""
        ...

    def range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Entries from `start` (inclusive) to `end` (exclusive) in key order, lazily; `None` leaves a side open."""
        ...

    def reverse_range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """The entries of `range`, from the last to the first, lazily."""
        ...

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Entries whose key starts with `prefix`, in key order, lazily."""
        ...

    def approximate_len(self) -> int:
        """The number of entries; exact unless keys are longer than 510 bytes."""
        ...


class ByteStore(ByteReader, Protocol):
    """Reads and writes of the byte strings of one store: what `Stores.custom` gives to a class of your own.

    A value is never `None`; `b""` is a value and a key like any other. A store may be written during an iteration: each
    step yields the next key that is in the store at that moment, with its current value.
    """

    def put(self, key: bytes, value: bytes) -> None:
        """Stores a value, in place of the one that the key has."""
        ...

    def delete(self, key: bytes) -> None:
        """Removes a key, if it is there."""
        ...

    def put_many(self, items: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Writes every item in order; a value of `None` deletes."""
        for key, value in items:
            if value is None:
                self.delete(key)
            else:
                self.put(key, value)


def next_key(key: bytes) -> bytes:
    """The smallest key greater than `key`: as an exclusive end it makes a range include `key`."""
    return key + b"\x00"


def prefix_end(prefix: bytes) -> bytes | None:
    """The exclusive end of the range of all keys that start with `prefix`; `None` when no key lies beyond it."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes((stem[-1] + 1,)) if stem else None
