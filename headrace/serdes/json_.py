"""JSON values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

import msgspec
import pyarrow as pa

from headrace.errors import SerdeError
from headrace.serdes.base import Serde, replace_with_null
from headrace.serdes.models import contains_models, is_model, model_from_json, to_json_types
from headrace.serdes.plain import explain, is_plain

T = TypeVar("T")


_encode = msgspec.json.Encoder(enc_hook=to_json_types).encode


def encode(value: Any) -> bytes:
    """Converts a value to JSON.

    Raises:
        ValueError: for NaN or an infinity anywhere in the value: JSON has neither, and msgspec would write null.
    """
    data = _encode(value)
    if b"null" in data:  # rare enough that only these values are looked through
        _check_finite(value)
    return data


def _encode_plain(value: Any) -> bytes:
    """Converts a value to JSON.

    Raises:
        TypeError: for a value that would be read back as something else, such as a dataclass or a set.
    """
    if not is_plain(value):
        raise TypeError(explain(value))
    return encode(value)


def _check_finite(value: Any) -> None:
    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_to_plain_types)
    try:
        json.dumps(plain, allow_nan=False, check_circular=False)
    except ValueError as error:
        message = "JSON has no NaN and no infinities. Use None, text, or a serde such as Double() instead."
        raise ValueError(message) from error


def _to_plain_types(value: Any) -> Any:
    return None if isinstance(value, msgspec.Raw) else to_json_types(value)


class Json(Serde[T], Generic[T]):
    """Compact JSON: dicts, lists, text, numbers, booleans; typed values are written as dicts, sets as lists.

    NaN and infinities cannot be serialized: JSON has no such numbers. In stores and internal topics, `Json()` without a
    type refuses values that it would read back as something else: typed values, sets, tuples, times, enums, dicts whose
    keys are not text.

    Args:
        type: the type of the values that are read: a dataclass, a `msgspec.Struct`, a pydantic model, `set[str]`,
            `list[int]`, ...; JSON that does not fit it is refused. Without it, values are read as dicts, lists, text,
            numbers and booleans.

    Example:
        >>> Json().deserialize(Json().serialize({"page": "/", "n": 1}))
        {'page': '/', 'n': 1}
        >>> Json(set[str]).deserialize(Json(set[str]).serialize({"tiger"}))
        {'tiger'}
    """

    @overload
    def __init__(self: Json[Any], type: None = None) -> None: ...
    @overload
    def __init__(self, type: Callable[..., T]) -> None: ...
    def __init__(self, type: Any = None) -> None:  # noqa: A002
        self._type = type
        self._decode = self._decoder()
        self._encode = encode

    @property
    def repeatable(self) -> bool:
        """Whether values stay equal when written and read again. With a type of the user, that is not certain."""
        return self._type is None

    def _decoder(self) -> Callable[[bytes], T]:
        wanted: Any = Any if self._type is None else self._type
        try:
            self._has_models = contains_models(wanted)
            if is_model(wanted):
                validated: Callable[[bytes], T] = wanted.model_validate_json
                return validated
            return msgspec.json.Decoder(wanted, dec_hook=model_from_json if self._has_models else None).decode
        except TypeError as error:
            message = f"Json({self._type!r}): JSON cannot be read as that type: {error}"
            raise SerdeError(message) from error

    def serialize(self, value: T | None) -> bytes | None:
        """Converts a value to JSON; `None` stays `None`."""
        try:
            return None if value is None else self._encode(value)
        except Exception:
            return super().serialize(value)

    def _to_bytes(self, value: T) -> bytes:
        return self._encode(value)

    def _from_bytes(self, data: bytes) -> T:
        return self._decode(data)

    def read_back(self) -> Self:
        """Returns this serde; without a type, a copy that refuses values which it would read back as something else."""
        if self._type is not None:
            return self
        copy = type(self).__new__(type(self))
        vars(copy).update(vars(self), _encode=_encode_plain)
        return copy

    def checked(self, column: pa.Array) -> pa.Array:
        """Checks that every value of a binary column can be read; JSON `null` becomes null. Reads equal values once."""
        distinct = column.unique().drop_null().to_pylist()
        values = self.deserialize_many(distinct)
        return replace_with_null(column, [data for data, value in zip(distinct, values, strict=True) if value is None])

    def __repr__(self) -> str:
        if self._type is None:
            return "Json()"
        return f"Json({self._type.__qualname__ if isinstance(self._type, type) else self._type!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._type == other._type

    def __hash__(self) -> int:
        return hash(Json)

    def __getstate__(self) -> dict[str, Any]:
        return {"_type": self._type, "_encode": self._encode}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._type = state["_type"]
        self._encode = state["_encode"]
        self._decode = self._decoder()
