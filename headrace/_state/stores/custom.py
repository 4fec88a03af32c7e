"""The byte stores under custom stores: they pass calls on to a store of the task, and check the arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from headrace._state.bytes.api import ByteReader, ByteStore, prefix_end
from headrace.errors import StateError


class CheckedReader:
    """A `ByteStore` for custom stores in queries: checks arguments, and raises a `StateError` for every write.

    Example:
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> CheckedReader(MemoryStore(), "top").get("ann")
        Traceback (most recent call last):
        headrace.errors.StateError: Store 'top': the key is 'ann', a str; keys and values of a ByteStore are bytes. ...
    """

    def __init__(self, contents: ByteReader, name: str) -> None:
        self._reader = contents
        self._name = name

    def get(self, key: bytes) -> bytes | None:
        return self._reader.get(self._checked(key, "key"))

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._reader.get_many([self._checked(key, "key") for key in keys])

    def range(self, start: bytes | None = None, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        return self._reader.range(*self._checked_bounds(start, end))

    def reverse_range(self, start: bytes | None = None, end: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        return self._reader.reverse_range(*self._checked_bounds(start, end))

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        start = self._checked(prefix, "prefix")
        return self._reader.range(start, prefix_end(start))

    def approximate_len(self) -> int:
        return self._reader.approximate_len()

    def put(self, key: bytes, value: bytes) -> None:  # noqa: ARG002
        self._refuse()

    def delete(self, key: bytes) -> None:  # noqa: ARG002
        self._refuse()

    def put_many(self, items: Iterable[tuple[bytes, bytes | None]]) -> None:  # noqa: ARG002
        self._refuse()

    def _refuse(self) -> NoReturn:
        message = f"Store {self._name!r} was opened by a query, which can only read it; processors write to it."
        raise StateError(message)

    def _checked(self, given: Any, what: str) -> bytes:
        if isinstance(given, bytes):
            return given
        message = (
            f"Store {self._name!r}: the {what} is {given!r}, a {type(given).__name__}; keys and values of a ByteStore "
            "are bytes. Serialize it, e.g. with serdes.String().serialize(...)."
        )
        raise StateError(message)

    def _checked_bounds(self, start: Any, end: Any) -> tuple[bytes | None, bytes | None]:
        return (
            None if start is None else self._checked(start, "start"),
            None if end is None else self._checked(end, "end"),
        )


class CheckedStore(CheckedReader):
    """A `ByteStore` for custom stores in tasks: checks arguments, and allows writes."""

    def __init__(self, contents: ByteStore, name: str) -> None:
        super().__init__(contents, name)
        self._contents = contents

    def put(self, key: bytes, value: bytes) -> None:
        self._contents.put(self._checked(key, "key"), self._checked(value, "value"))

    def delete(self, key: bytes) -> None:
        self._contents.delete(self._checked(key, "key"))

    def put_many(self, items: Iterable[tuple[bytes, bytes | None]]) -> None:
        checked = self._checked
        self._contents.put_many(
            (checked(key, "key"), None if value is None else checked(value, "value")) for key, value in items
        )
