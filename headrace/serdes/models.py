"""Converts typed values: dataclasses and `msgspec.Struct`s with msgspec, pydantic models with pydantic.

pydantic is not imported here: a user who passes a model has imported it.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import msgspec

# Avro has its own types for these. Other types are converted as msgspec does it, e.g. an Enum to its value.
_AVRO_TYPES = (bytes, bytearray, memoryview, datetime.datetime, datetime.date, datetime.time, decimal.Decimal)


def is_model(kind: Any) -> bool:
    """Whether a class is a pydantic model."""
    return isinstance(kind, type) and hasattr(kind, "model_validate_json")


def contains_models(kind: Any) -> bool:
    """Whether a type is or contains a pydantic model.

    Raises:
        TypeError: if msgspec cannot read values as that type.
    """
    seen: set[int] = set()

    def has_model(info: Any) -> bool:
        if isinstance(info, msgspec.inspect.CustomType):
            return is_model(info.cls)
        if isinstance(info, tuple):
            return any(map(has_model, info))
        if not isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field) or id(info) in seen:
            return False
        seen.add(id(info))
        return any(has_model(getattr(info, name)) for name in info.__struct_fields__)

    return has_model(msgspec.inspect.type_info(kind))


def to_json_types(value: Any) -> Any:
    """Converts what msgspec does not encode itself: models, and subclasses of `int`, `float` and `str`."""
    if is_model(type(value)):
        return value.model_dump(mode="json", by_alias=True)
    return _to_base_type(value)


def model_from_json(kind: Any, value: Any) -> Any:
    """Converts decoded JSON to the pydantic model `kind`. msgspec calls it for models inside other types (`dec_hook`).

    Raises:
        NotImplementedError: if `kind` is not a pydantic model.
    """
    if not is_model(kind):
        message = f"JSON cannot be read as {kind!r}"
        raise NotImplementedError(message)
    return kind.model_validate_json(msgspec.json.encode(value))


def to_builtins(value: Any) -> Any:
    """Converts a typed value to dicts and lists; times, bytes and decimals stay as they are."""
    return msgspec.to_builtins(value, builtin_types=_AVRO_TYPES, enc_hook=_to_avro_types)


def converter_to(kind: Any) -> Callable[[Any], Any]:
    """Returns a function that converts dicts and lists to values of a type.

    Raises:
        TypeError: if neither msgspec nor pydantic can convert to that type.
    """
    if is_model(kind):
        validated: Callable[[Any], Any] = kind.model_validate
        return validated
    hook = _to_model if contains_models(kind) else None
    return lambda value: msgspec.convert(value, kind, builtin_types=_AVRO_TYPES, dec_hook=hook)


def _to_avro_types(value: Any) -> Any:
    return value.model_dump(by_alias=True) if is_model(type(value)) else _to_base_type(value)


def _to_model(kind: Any, value: Any) -> Any:
    if not is_model(kind):
        message = f"values cannot be read as {kind!r}"
        raise NotImplementedError(message)
    return kind.model_validate(value)


def _to_base_type(value: Any) -> Any:
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    message = f"Encoding objects of type {type(value).__name__} is unsupported"
    raise NotImplementedError(message)
