"""What a serde is: a pair of functions between Python values and the bytes of a topic or store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import SerdeError

T = TypeVar("T")

# What a ready serde says or does about its own format only, and what of it would make that untrue if it were another.
_WRITES, _READS = ("_to_bytes", "serialize"), ("_from_bytes", "deserialize")
_SHORTCUTS = {
    "serialize": ("_to_bytes",),
    "serialize_many": _WRITES,
    "deserialize_many": _READS,
    "checked": (*_READS, "deserialize_many"),
    "canonical": (*_WRITES, *_READS, "deserialize_many"),
    "plain": _WRITES,
}


class Serde(Generic[T]):
    """Turns values into bytes and back. Subclass it, or one of the ready ones, for a format of your own.

    A subclass writes `_to_bytes` and `_from_bytes`, which never see `None`: a null key or value stays null
    without asking the serde. Whatever they raise becomes a `SerdeError` that names the serde and the value.
    """

    canonical: bool = False
    """Whether every value has one form in bytes, so that bytes read and written again are the same bytes."""

    plain: type | None = None
    """`str` or `bytes` if values are of that type and can be serialized later, together: they never change."""

    def __init_subclass__(cls, **options: Any) -> None:
        """A subclass with a format of its own inherits no shortcut around it."""
        super().__init_subclass__(**options)

        def nearest(name: str) -> int:
            return next(distance for distance, base in enumerate(cls.__mro__) if name in vars(base))

        for shortcut, format_of in _SHORTCUTS.items():
            if min(map(nearest, format_of)) < nearest(shortcut):
                setattr(cls, shortcut, vars(Serde)[shortcut])

    def _to_bytes(self, value: T) -> bytes:
        raise NotImplementedError

    def _from_bytes(self, data: bytes) -> T:
        raise NotImplementedError

    def serialize(self, value: T | None) -> bytes | None:
        """The bytes of a value; `None` stays `None`."""
        if value is None:
            return None
        try:
            return self._to_bytes(value)
        except Exception as error:
            message = f"{self!r} cannot serialize {shortened(value)} of type {type(value).__name__}: {error}"
            raise _kind(error)(message) from error

    def deserialize(self, data: bytes | None) -> T | None:
        """The value of some bytes; `None` stays `None`."""
        if data is None:
            return None
        try:
            return self._from_bytes(data)
        except Exception as error:
            message = f"{self!r} cannot deserialize {len(data)} bytes starting {shortened(bytes(data[:24]))}: {error}"
            raise _kind(error)(message) from error

    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        """`serialize` for many values, as a binary column; where there is a `plain` type, all are of it, or `None`."""
        return pa.array([self.serialize(value) for value in values], pa.binary())

    def deserialize_many(self, column: Sequence[bytes | None]) -> Sequence[T | None]:
        """`deserialize` for a whole column, cheaper than one call per value."""
        convert: Callable[[bytes], T] = self._from_bytes
        try:
            return [None if data is None else convert(data) for data in column]
        except Exception:
            return [self.deserialize(data) for data in column]

    def checked(self, column: pa.Array) -> pa.Array:
        """A binary column of which every value can be deserialized, with null in place of what is read as `None`.

        Raises:
            SerdeError: if one cannot be.
        """
        return nulled(column, [data for data in column.to_pylist() if self.deserialize(data) is None])

    def with_default(self, inner: Serde[Any]) -> Serde[Any]:  # noqa: ARG002
        """This serde; one around another serde that was given none gets `inner`."""
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))


def nulled(column: pa.Array, values: Sequence[bytes | None]) -> pa.Array:
    """A binary column with null in place of some values."""
    if not any(value is not None for value in values):
        return column
    return pc.if_else(pc.is_in(column, pa.array(values, pa.binary())), pa.scalar(None, column.type), column)


def _kind(error: Exception) -> type[SerdeError]:
    return type(error) if isinstance(error, SerdeError) else SerdeError


def shortened(value: Any, limit: int = 80) -> str:
    """A value's repr, cut to a length that fits an error message."""
    return cut(repr(value), limit)


def cut(text: str, limit: int) -> str:
    """A text of at most that length."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
