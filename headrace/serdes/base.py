"""The base class of serdes, which convert Python values to the bytes of a topic or store and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import SerdeError, text_of
from headrace.model.record import Headers

T = TypeVar("T")
TopicPart: TypeAlias = Literal["key", "value"]

# Each of these attributes is only right for the format that the methods after it define. A subclass that overrides one
# of those methods must not inherit it.
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
    """Converts values to bytes and back. Subclass it, or one of the serdes here, for a format of your own.

    A subclass defines `_to_bytes` and `_from_bytes`, which never see `None`: a null key or value stays null. Whatever
    they raise becomes a `SerdeError` that names the serde and the value.

    A format that depends on the topic is chosen by `for_topic`. One that depends on the headers of a record is written
    and read by `serialize_with_headers` and `deserialize_with_headers`; stores have no headers and use the other two.
    """

    canonical: bool = False
    """Whether every value has exactly one form in bytes, so that reading bytes and writing the value restores them."""

    plain: type | None = None
    """`str` or `bytes` if values have that type: they are immutable, so they may be serialized later, in bulk."""

    uses_headers: bool = False
    """Whether the class overrides `serialize_with_headers` or `deserialize_with_headers`; set by itself."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Resets what a subclass inherits for another format.

        If it overrides `_to_bytes` or `_from_bytes`, the bulk methods and flags of its base are no longer right.
        """
        super().__init_subclass__(**options)

        def distance_to(name: str) -> int:
            return next(distance for distance, base in enumerate(cls.__mro__) if name in vars(base))

        for shortcut, methods in _SHORTCUTS.items():
            if min(map(distance_to, methods)) < distance_to(shortcut):
                setattr(cls, shortcut, vars(Serde)[shortcut])
        cls.uses_headers = (
            cls.serialize_with_headers is not Serde.serialize_with_headers
            or cls.deserialize_with_headers is not Serde.deserialize_with_headers
        )

    def _to_bytes(self, value: T) -> bytes:
        raise NotImplementedError

    def _from_bytes(self, data: bytes) -> T:
        raise NotImplementedError

    def serialize(self, value: T | None) -> bytes | None:
        """Converts a value to bytes; `None` stays `None`."""
        if value is None:
            return None
        try:
            return self._to_bytes(value)
        except Exception as error:
            message = f"{self!r} cannot serialize {shortened(value)} of type {type(value).__name__}: {text_of(error)}"
            raise _error_type(error)(message) from error

    def deserialize(self, data: bytes | None) -> T | None:
        """Converts bytes to a value; `None` stays `None`."""
        if data is None:
            return None
        try:
            return self._from_bytes(data)
        except Exception as error:
            start = shortened(bytes(data[:24]))
            message = f"{self!r} cannot deserialize {len(data)} bytes starting {start}: {text_of(error)}"
            raise _error_type(error)(message) from error

    def serialize_with_headers(self, value: T | None, headers: Headers) -> tuple[bytes | None, Headers]:
        """Converts a key or value of a topic to bytes, and returns the headers with which its record is written.

        The key is serialized first; the value gets the headers that the key's serde returned.
        """
        return self.serialize(value), headers

    def deserialize_with_headers(self, data: bytes | None, headers: Headers) -> T | None:  # noqa: ARG002
        """Converts the bytes of a topic, whose record has these headers, to a key or value."""
        return self.deserialize(data)

    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        """Serializes many values to a binary column. With a `plain` type, all are of it or `None`."""
        return pa.array([self.serialize(value) for value in values], pa.binary())

    def deserialize_many(self, column: Sequence[bytes | None]) -> Sequence[T | None]:
        """Deserializes a whole column, which is cheaper than one call per value."""
        convert: Callable[[bytes], T] = self._from_bytes
        try:
            return [None if data is None else convert(data) for data in column]
        except Exception:
            return [self.deserialize(data) for data in column]

    def checked(self, column: pa.Array) -> pa.Array:
        """Checks that every value of a binary column can be deserialized; values that are read as `None` become null.

        Raises:
            SerdeError: for the first that cannot be deserialized.
        """
        return replace_with_null(column, [data for data in column.to_pylist() if self.deserialize(data) is None])

    def for_topic(self, topic: str, part: TopicPart) -> Serde[T]:  # noqa: ARG002
        """The serde for the keys or the values of a topic: this one, unless the format depends on the topic.

        It is called for input and output topics, not for stores and internal topics, which only one application reads.
        """
        return self

    def with_default(self, inner: Serde[Any]) -> Serde[Any]:  # noqa: ARG002
        """This serde. A serde around another one, created without it, returns a copy around `inner`."""
        return self

    def read_back(self) -> Serde[T]:
        """The serde for stores and internal topics, whose values the topology reads back.

        Unlike one for an output topic, it must refuse a value that would be read as something else.
        """
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(type(self))


def replace_with_null(column: pa.Array, values: Sequence[bytes | None]) -> pa.Array:
    """Replaces these values of a binary column with null."""
    if not any(value is not None for value in values):
        return column
    return pc.if_else(pc.is_in(column, pa.array(values, pa.binary())), pa.scalar(None, column.type), column)


def _error_type(error: Exception) -> type[SerdeError]:
    return type(error) if isinstance(error, SerdeError) else SerdeError


def shortened(value: Any, limit: int = 80) -> str:
    """A value's repr, truncated to a length that fits an error message."""
    try:
        text = repr(value)
    except Exception as error:
        return f"(a {type(value).__name__} that cannot be shown: {type(error).__name__})"
    return truncate(text, limit)


def truncate(text: str, limit: int) -> str:
    """The text, with an ellipsis at the end if it is longer than `limit`."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
