"""A byte store that can only be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from headrace._state.bytes.api import ByteReader
from headrace.errors import StateError


class ReadOnlyStore:
    """Passes reads on to another store. Writes raise a `StateError` with `reason` as its message.

    Example:
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> contents = MemoryStore()
        >>> contents.put(b"key", b"value")
        >>> store = ReadOnlyStore(contents, "Store 'pages' can only be read.")
        >>> store.get(b"key")
        b'value'
        >>> store.delete(b"key")
        Traceback (most recent call last):
        headrace.errors.StateError: Store 'pages' can only be read.
    """

    def __init__(self, contents: ByteReader, reason: str) -> None:
        self._contents = contents
        self._reason = reason

    def get(self, key: bytes) -> bytes | None:
        return self._contents.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._contents.get_many(keys)

    def range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        return self._contents.range(start, end)

    def reverse_range(self, start: bytes | None, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        return self._contents.reverse_range(start, end)

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._contents.prefix(prefix)

    def approximate_len(self) -> int:
        return self._contents.approximate_len()

    def put(self, key: bytes, value: bytes) -> NoReturn:  # noqa: ARG002
        raise StateError(self._reason)

    def delete(self, key: bytes) -> NoReturn:  # noqa: ARG002
        raise StateError(self._reason)

    def put_many(self, items: Iterable[tuple[bytes, bytes | None]]) -> NoReturn:  # noqa: ARG002
        raise StateError(self._reason)
