"""The interface of the byte stores under every typed store: stores in memory, overlays and replicas implement it.

Keys are ordered as unsigned byte strings. Iterators are live: each step looks up the next key in the store, after the
one it yielded last, and yields it with its current value. In reverse, it looks up the previous key. So a store may be
written during an iteration, and the iteration sees what is written ahead of it. It makes no difference which entries
were committed by earlier batches. A snapshot never changes, so any iterator over it is live.
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
        """Returns what `get` returns for each key, in the order of `keys`."""
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
    """Reads and writes of the byte strings of one store. `Stores.custom` passes it to a class of your own.

    A value is never `None`; `b""` is valid as a key and as a value. A store may be written during an iteration: each
    step yields the next key that is in the store at that moment, with its current value.
    """

    def put(self, key: bytes, value: bytes) -> None:
        """Stores the value of a key, and replaces the one that it had."""
        ...

    def delete(self, key: bytes) -> None:
        """Removes a key, if it is there."""
        ...

    def put_many(self, items: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Writes all items, pairs of key and value, in order; a value of `None` removes the key."""
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
