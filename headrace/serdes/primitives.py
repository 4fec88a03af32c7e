"""Serdes of single values, in the byte formats of Kafka's own serializers."""

from __future__ import annotations

import math
import struct
import uuid
from collections.abc import Sequence
from numbers import Integral, Number
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from headrace.serdes.base import Serde


class String(Serde[str]):
    """Text as UTF-8.

    Example:
        >>> String().serialize("é").hex()
        'c3a9'
    """

    canonical = True
    plain = str

    def serialize(self, value: str | None) -> bytes | None:
        """Encodes a text; `None` stays `None`."""
        try:
            if type(value) is str:
                return value.encode()
        except UnicodeEncodeError:
            pass  # half of a surrogate pair: `super().serialize` raises the error
        return super().serialize(value)

    def _to_bytes(self, value: str) -> bytes:
        if not isinstance(value, str):
            message = "expected a str; pass the serde of its type to the topic or operator, e.g. serdes.Long()"
            raise TypeError(message)
        return value.encode()

    def _from_bytes(self, data: bytes) -> str:
        return data.decode()

    def serialize_many(self, values: Sequence[str | None]) -> pa.Array:
        """Serializes many texts to a binary column."""
        return pa.array(values, pa.string()).cast(pa.binary())

    def deserialize_many(self, column: Sequence[bytes | None]) -> Sequence[str | None]:
        """Deserializes a whole column."""
        try:
            return [None if data is None else data.decode() for data in column]
        except UnicodeDecodeError:
            return [self.deserialize(data) for data in column]

    def checked(self, column: pa.Array) -> pa.Array:
        """Checks that every value of a binary column is UTF-8."""
        try:
            column.cast(pa.string())
        except pa.ArrowInvalid:
            return super().checked(column)
        return column


class Bytes(Serde[bytes]):
    """Bytes as they are. `bytearray` and `memoryview` can be written, too; values are read as `bytes`."""

    canonical = True
    plain = bytes

    def _to_bytes(self, value: bytes) -> bytes:
        if not isinstance(value, bytes | bytearray | memoryview):
            message = "expected bytes"
            raise TypeError(message)
        return bytes(value)

    def _from_bytes(self, data: bytes) -> bytes:
        return bytes(data)

    def checked(self, column: pa.Array) -> pa.Array:
        """Returns the column: all bytes are valid."""
        return column


class _Packed(Serde[int]):
    """A whole number in a fixed number of big-endian bytes."""

    canonical = True
    _format: ClassVar[struct.Struct]

    def serialize(self, value: int | None) -> bytes | None:
        """Packs a number; `None` stays `None`."""
        try:
            if type(value) is int:
                return self._format.pack(value)
        except struct.error:
            pass  # out of range: `super().serialize` raises the error
        return super().serialize(value)

    def _to_bytes(self, value: int) -> bytes:
        if isinstance(value, bool):
            message = "a bool is not a number here; use serdes.Bool()"
            raise TypeError(message)
        return self._format.pack(value)

    def _from_bytes(self, data: bytes) -> int:
        number: int = self._format.unpack(data)[0]
        return number

    def checked(self, column: pa.Array) -> pa.Array:
        """Checks that every value of a binary column has the right length."""
        lengths = pc.unique(pc.binary_length(column.drop_null())).to_pylist()
        return column if set(lengths) <= {self._format.size} else super().checked(column)


class Short(_Packed):
    """A signed integer of 16 bits: 2 bytes, big-endian."""

    _format = struct.Struct(">h")


class Int(_Packed):
    """A signed integer of 32 bits: 4 bytes, big-endian."""

    _format = struct.Struct(">i")


class Long(_Packed):
    """A signed integer of 64 bits: 8 bytes, big-endian.

    Example:
        >>> Long().serialize(258).hex()
        '0000000000000102'
    """

    _format = struct.Struct(">q")


_EXACT = 2**53  # a double holds every integer up to this one


class _PackedFloat(Serde[float]):
    """A floating point number in a fixed number of big-endian bytes."""

    _format: ClassVar[struct.Struct]
    _kind: ClassVar[str]

    def _to_bytes(self, value: float | int) -> bytes:  # noqa: PYI041  `int` is checked apart
        is_exact = isinstance(value, float) or (type(value) is int and -_EXACT <= value <= _EXACT)
        try:
            return self._format.pack(value if is_exact else self._to_float(value))
        except OverflowError as error:
            message = f"it is too large for {self._kind}"
            raise ValueError(message) from error

    def _to_float(self, value: float) -> float:
        """Converts a number to the nearest float.

        Raises:
            OverflowError: if the number is finite but too large for a float.
            TypeError: for a bool, and for what is no number.
        """
        if isinstance(value, bool):
            message = "a bool is not a number here; use serdes.Bool()"
            raise TypeError(message)
        if not isinstance(value, Number):
            message = "expected a float"
            raise TypeError(message)
        number = float(value)
        if math.isinf(number) and number != value:  # some types, such as Decimal, do not raise the error themselves
            raise OverflowError
        return number

    def _from_bytes(self, data: bytes) -> float:
        number: float = self._format.unpack(data)[0]
        return number


class Float(_PackedFloat):
    """A number in single precision: 4 bytes, big-endian (IEEE 754).

    Every number is rounded to single precision. Numbers beyond its range, about 3.4e38, are refused.
    """

    _format = struct.Struct(">f")
    _kind = "a float of 4 bytes"


class Double(_PackedFloat):
    """A number in double precision, like Java's `double`: 8 bytes, big-endian (IEEE 754).

    An integer that a double cannot hold exactly, such as 2^53 + 1, is refused. A `Decimal` is rounded, as by `float()`.
    """

    _format = struct.Struct(">d")
    _kind = "a double"

    def _to_float(self, value: float) -> float:
        number = super()._to_float(value)
        if isinstance(value, Integral) and int(number) != int(value):
            long = ", or use serdes.Long()" if -(2**63) <= int(value) < 2**63 else ""
            message = f"a double cannot hold it exactly; round it with float(value){long}"
            raise ValueError(message)
        return number


class Bool(Serde[bool]):
    """A boolean in one byte, 1 or 0."""

    def _to_bytes(self, value: bool) -> bytes:
        if not isinstance(value, bool):
            message = "expected a bool"
            raise TypeError(message)
        return b"\x01" if value else b"\x00"

    def _from_bytes(self, data: bytes) -> bool:
        if data not in (b"\x00", b"\x01"):
            message = "expected one byte, 0 or 1"
            raise ValueError(message)
        return bytes(data) == b"\x01"


class Uuid(Serde[uuid.UUID]):
    """A UUID as text of 36 characters, as Kafka's UUID serializer writes it."""

    def _to_bytes(self, value: uuid.UUID) -> bytes:
        if not isinstance(value, uuid.UUID):
            message = "expected a uuid.UUID"
            raise TypeError(message)
        return str(value).encode()

    def _from_bytes(self, data: bytes) -> uuid.UUID:
        return uuid.UUID(data.decode())
