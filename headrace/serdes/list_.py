"""Lists, in the byte format of Kafka's list serde."""

from __future__ import annotations

import struct
from typing import Any

from headrace.serdes.base import Serde
from headrace.serdes.primitives import Double, Float, Int, Long, Short, Uuid
from headrace.serdes.wrapping import Wrapping

_CONSTANT_SIZE, _VARIABLE_SIZE = b"\x00", b"\x01"
_INT = struct.Struct(">i")
_NULL = -1
_SIZES: dict[type[Serde[Any]], int] = {Short: 2, Int: 4, Float: 4, Long: 8, Double: 8, Uuid: 36}


class List(Wrapping[list[Any]]):
    """A list of values of one serde, any of which may be `None`.

    Values of `Short Int Long Float Double Uuid` all have the same size: `0`, the number of nulls, the index of each,
    the number of entries, the bytes of those that are not null. Of any other serde: `1`, the number of entries, and
    for each its size, -1 for null, and its bytes. Numbers are 4 bytes, big-endian. Both forms are read where they can.

    Args:
        inner: serde of the values.

    Example:
        >>> from headrace import serdes
        >>> List(serdes.String()).serialize(["a", None]).hex(" ")
        '01 00 00 00 02 00 00 00 01 61 ff ff ff ff'
        >>> List(serdes.Int()).deserialize(bytes.fromhex("00 00000001 00000001 00000002 00000102"))
        [258, None]
    """

    def _is_canonical(self) -> bool:
        return False

    def _to_bytes(self, value: list[Any]) -> bytes:
        if not isinstance(value, list | tuple):
            raise TypeError("expected a list")
        entries = [self.inner.serialize(entry) for entry in value]
        count = _INT.pack(len(entries))
        if type(self.inner) in _SIZES:
            nulls = [index for index, entry in enumerate(entries) if entry is None]
            places = b"".join(map(_INT.pack, [len(nulls), *nulls]))
            return b"".join([_CONSTANT_SIZE, places, count, *(entry for entry in entries if entry is not None)])
        sized = (_INT.pack(_NULL) if entry is None else _INT.pack(len(entry)) + entry for entry in entries)
        return b"".join([_VARIABLE_SIZE, count, *sized])

    def _from_bytes(self, data: bytes) -> list[Any]:
        reader = _Reader(data)
        form = reader.take(1)
        if form == _CONSTANT_SIZE:
            entries = self._constant_size(reader)
        elif form == _VARIABLE_SIZE:
            entries = [reader.sized() for _ in range(reader.count("entries"))]
        else:
            message = f"a list begins with 0 (entries of constant size) or 1 (of variable size), not {form[0]}"
            raise ValueError(message)
        reader.expect_end()
        return [self.inner.deserialize(entry) for entry in entries]

    def _constant_size(self, reader: _Reader) -> list[bytes | None]:
        size = _SIZES.get(type(self.inner))
        if size is None:
            message = f"the list has entries of constant size, but those of {self.inner!r} have none"
            raise ValueError(message)
        nulls = {reader.number() for _ in range(reader.count("nulls"))}
        return [None if index in nulls else reader.take(size) for index in range(reader.count("entries"))]


class _Reader:
    """Takes a list's bytes from the left."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            message = f"the list ends after {len(self._data)} bytes; {size} should begin at {self._at}"
            raise ValueError(message)
        self._at += size
        return taken

    def number(self) -> int:
        number: int = _INT.unpack(self.take(_INT.size))[0]
        return number

    def count(self, things: str) -> int:
        count = self.number()
        if count < 0:
            message = f"the list says it has {count} {things}"
            raise ValueError(message)
        return count

    def sized(self) -> bytes | None:
        size = self.number()
        if size < _NULL:
            message = f"the list says an entry has {size} bytes"
            raise ValueError(message)
        return None if size == _NULL else self.take(size)

    def expect_end(self) -> None:
        if self._at < len(self._data):
            message = f"{len(self._data) - self._at} bytes follow the end of the list"
            raise ValueError(message)
