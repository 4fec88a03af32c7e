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

# Each attribute fits only the format that the methods listed with it define. A subclass that overrides one of those
# methods must not inherit the attribute.
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
    """Converts values to bytes and back. For a format of your own, subclass it or one of the serdes in this package.

    A subclass implements `_to_bytes`, which must return the bytes of a value, and `_from_bytes`, which must return the
    value of bytes. Neither is called for `None`: a null key or value stays null. An exception that they raise becomes
    a `SerdeError` that names the serde and the value.

    If the format depends on the topic, override `for_topic`. If it depends on the headers of a record, override
    `serialize_with_headers` and `deserialize_with_headers`. Stores have no headers and always use `_to_bytes` and
    `_from_bytes`.

    Serdes are pickled to be sent to Spark's workers. An application saves the `repr` of the serdes of its stores and
    does not start if one has changed, so `__repr__` should show every argument that changes the format.
    """

    canonical: bool = False
    """Whether every value has exactly one encoding, so that reading bytes and writing the value gives the same bytes.

    Then bytes that were read may be written again without converting them. `False` is always correct.
    """

    plain: type | None = None
    """`str` or `bytes` if all values have that type, else `None`.

    Such values are immutable, so many of them can be collected and serialized together, by `serialize_many`. If this
    is set, serializing an ASCII value of that type must never fail.
    """

    uses_headers: bool = False
    """Whether the class overrides `serialize_with_headers` or `deserialize_with_headers`. Set automatically."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Replaces inherited bulk methods and flags that do not fit the subclass with those of `Serde`.

        A subclass that overrides, for example, `_to_bytes` has another format than its base, which the bulk methods of
        the base know nothing of.
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
        """Converts a key or value of a topic to bytes; returns the bytes, and the headers to write with the record.

        It is also called for `None`. The key is serialized first; the value's serde gets the headers that the key's
        serde returned.
        """
        return self.serialize(value), headers

    def deserialize_with_headers(self, data: bytes | None, headers: Headers) -> T | None:  # noqa: ARG002
        """Converts bytes of a topic to a key or value, by the headers of the record. It is also called for `None`."""
        return self.deserialize(data)

    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        """Serializes many values to a binary column, with one row for each value.

        It is only called if `plain` is set. Then each value is exactly of that type, or `None`.
        """
        return pa.array([self.serialize(value) for value in values], pa.binary())

    def deserialize_many(self, column: Sequence[bytes | None]) -> Sequence[T | None]:
        """Deserializes a whole column to as many values, which is cheaper than one call per value.

        Raises:
            SerdeError: for the first value that cannot be deserialized.
        """
        convert: Callable[[bytes], T] = self._from_bytes
        try:
            return [None if data is None else convert(data) for data in column]
        except Exception:
            return [self.deserialize(data) for data in column]

    def checked(self, column: pa.Array) -> pa.Array:
        """Checks that every value of a binary column can be deserialized.

        Returns the column; values that are read as `None`, such as JSON's `null`, are replaced with null.

        Raises:
            SerdeError: for the first value that cannot be deserialized.
        """
        return replace_with_null(column, [data for data in column.to_pylist() if self.deserialize(data) is None])

    def for_topic(self, topic: str, part: TopicPart) -> Serde[T]:  # noqa: ARG002
        """Returns the serde for a topic's keys or values, depending on `part`: this one, if the topic does not matter.

        It is called for input and output topics, but not for stores and internal topics.
        """
        return self

    def with_default(self, inner: Serde[Any]) -> Serde[Any]:  # noqa: ARG002
        """Fills in the default serde, `inner`, in a serde that wraps another one and was created without it.

        Such a serde returns a copy of itself that wraps `inner`, the application's default serde for keys or values.
        All other serdes return themselves.
        """
        return self

    def read_back(self) -> Serde[T]:
        """Returns the serde for values in stores and internal topics, which the topology reads back: usually this one.

        Unlike a serde for an output topic, it must raise an error for a value that it would read back as something
        else, e.g. for a set that it would read as a list.
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
