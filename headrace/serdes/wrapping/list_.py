"""Lists, in the byte format of Kafka's list serde."""

from __future__ import annotations

import struct
from typing import Any, Generic

from headrace.model.type_variables import TypeVar
from headrace.serdes.base import Serde
from headrace.serdes.primitives import Double, Float, Int, Long, Short, Uuid
from headrace.serdes.wrapping.wrapping import Wrapping

T = TypeVar("T", default=Any)

_CONSTANT_SIZE, _VARIABLE_SIZE = b"\x00", b"\x01"
_INT = struct.Struct(">i")
_NULL = -1
_SIZES: dict[type[Serde[Any]], int] = {Short: 2, Int: 4, Float: 4, Long: 8, Double: 8, Uuid: 36}


class List(Wrapping[list[T]], Generic[T]):
    """A list of values of one serde, any of which may be `None`.

    If the inner serde is `Short Int Long Float Double Uuid`, all values have the same size, and the format is `0`, the
    number of nulls, the index of each null, the number of entries, and the bytes of all values that are not null. For
    any other serde it is `1`, the number of entries, and for each its size (-1 for null) and its bytes. Numbers are 4
    bytes, big-endian. A serde of constant size reads both forms.

    Args:
        inner: serde of the values.

    Example:
        >>> from headrace import serdes
        >>> List(serdes.String()).serialize(["a", None]).hex(" ")
        '01 00 00 00 02 00 00 00 01 61 ff ff ff ff'
        >>> List(serdes.Int()).deserialize(bytes.fromhex("00 00000001 00000001 00000002 00000102"))
        [258, None]
    """

    def __init__(self, inner: Serde[T] | None = None) -> None:
        super().__init__(inner)

    def _to_bytes(self, value: list[T]) -> bytes:
        if not isinstance(value, list | tuple):
            raise TypeError("expected a list")
        entries = [self.inner.serialize(entry) for entry in value]
        count = _INT.pack(len(entries))
        if type(self.inner) in _SIZES:
            nulls = [index for index, entry in enumerate(entries) if entry is None]
            null_indexes = b"".join(map(_INT.pack, [len(nulls), *nulls]))
            return b"".join([_CONSTANT_SIZE, null_indexes, count, *(entry for entry in entries if entry is not None)])
        sized = (_INT.pack(_NULL) if entry is None else _INT.pack(len(entry)) + entry for entry in entries)
        return b"".join([_VARIABLE_SIZE, count, *sized])

    def _from_bytes(self, data: bytes) -> list[T]:
        reader = _Reader(data)
        form = reader.read(1)
        if form == _CONSTANT_SIZE:
            entries = self._read_constant_size(reader)
        elif form == _VARIABLE_SIZE:
            entries = [reader.read_entry() for _ in range(reader.read_count("entries"))]
        else:
            message = f"a list begins with 0 (entries of constant size) or 1 (of variable size), not {form[0]}"
            raise ValueError(message)
        reader.expect_end()
        values: list[Any] = [self.inner.deserialize(entry) for entry in entries]
        return values

    def _read_constant_size(self, reader: _Reader) -> list[bytes | None]:
        size = _SIZES.get(type(self.inner))
        if size is None:
            message = f"the list has entries of constant size, but those of {self.inner!r} vary in size"
            raise ValueError(message)
        nulls = {reader.read_number() for _ in range(reader.read_count("nulls"))}
        return [None if index in nulls else reader.read(size) for index in range(reader.read_count("entries"))]


class _Reader:
    """Reads the bytes of a list from the start."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read(self, size: int) -> bytes:
        data = self._data[self._at : self._at + size]
        if len(data) < size:
            message = f"the list ends after {len(self._data)} bytes; {size} more should follow at byte {self._at}"
            raise ValueError(message)
        self._at += size
        return data

    def read_number(self) -> int:
        number: int = _INT.unpack(self.read(_INT.size))[0]
        return number

    def read_count(self, things: str) -> int:
        count = self.read_number()
        if count < 0:
            message = f"the list says it has {count} {things}"
            raise ValueError(message)
        return count

    def read_entry(self) -> bytes | None:
        size = self.read_number()
        if size < _NULL:
            message = f"the list says an entry has {size} bytes"
            raise ValueError(message)
        return None if size == _NULL else self.read(size)

    def expect_end(self) -> None:
        if self._at < len(self._data):
            message = f"{len(self._data) - self._at} bytes follow the end of the list"
            raise ValueError(message)
