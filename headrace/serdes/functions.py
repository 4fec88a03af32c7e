"""A serde made from two functions, and `Void`, the serde of topics without keys or without values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from headrace._suggestions.arity import checked_arity
from headrace.errors import SerdeError
from headrace.serdes.base import Serde

T = TypeVar("T")


class Void(Serde[None]):
    """Nothing but nulls, as Kafka's `VoidSerde`: for topics whose records have no key, or no value.

    Writing anything but `None` is an error, and so is reading a record that has bytes.

    Example:
        >>> Void().serialize(None) is None
        True
    """

    canonical = True

    def _to_bytes(self, value: None) -> bytes:  # noqa: ARG002
        message = "Void() is for keys and values that are always None"
        raise SerdeError(message)

    def _from_bytes(self, data: bytes) -> None:  # noqa: ARG002
        message = "Void() is for keys and values that are always null"
        raise SerdeError(message)


class FunctionSerde(Serde[T], Generic[T]):
    """A serde that calls two functions; `serde_from` creates it."""

    def __init__(self, serializer: Callable[[T], bytes], deserializer: Callable[[bytes], T]) -> None:
        self._serializer = serializer
        self._deserializer = deserializer

    def _to_bytes(self, value: T) -> bytes:
        data = self._serializer(value)
        if not isinstance(data, bytes):
            message = f"the serializer returned {type(data).__name__}; it must return bytes"
            raise TypeError(message)
        return data

    def _from_bytes(self, data: bytes) -> T:
        return self._deserializer(data)

    def __repr__(self) -> str:
        names = (getattr(function, "__qualname__", None) for function in (self._serializer, self._deserializer))
        return f"serde_from({', '.join(name or 'function' for name in names)})"

    def __hash__(self) -> int:
        return hash((FunctionSerde, repr(self)))


def serde_from(serializer: Callable[[T], bytes], deserializer: Callable[[bytes], T]) -> Serde[T]:
    """A serde from two functions; neither is called for `None`.

    An exception that they raise becomes a `SerdeError` that names the functions and the value. An application saves
    the names of the functions for its stores, and does not start if they have changed.

    Args:
        serializer: returns the bytes of a value.
        deserializer: returns the value of bytes.

    Raises:
        TopologyError: if one of them is not a function of one argument.

    Example:
        >>> import base64
        >>> encoded = serde_from(base64.b64encode, base64.b64decode)
        >>> encoded.serialize(b"ab"), encoded.deserialize(b"YWI=")
        (b'YWI=', b'ab')
    """
    checked_arity(serializer, "serde_from", "serializer(value)")
    checked_arity(deserializer, "serde_from", "deserializer(data)")
    return FunctionSerde(serializer, deserializer)
