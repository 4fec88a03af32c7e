"""Typed values: dataclasses and `msgspec.Struct`s, which msgspec knows, and pydantic models, which know themselves.

pydantic is not imported here: whoever gives a model has it.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import msgspec

# What Avro has types of its own for; anything else of Python's is written as msgspec writes it: an Enum as its value.
_KEPT = (bytes, bytearray, memoryview, datetime.datetime, datetime.date, datetime.time, decimal.Decimal)


def is_model(kind: Any) -> bool:
    """Whether a class is a pydantic model."""
    return isinstance(kind, type) and hasattr(kind, "model_validate_json")


def holds_models(kind: Any) -> bool:
    """Whether there are pydantic models anywhere in a type.

    Raises:
        TypeError: if msgspec cannot read values as that type.
    """
    seen: set[int] = set()

    def found(info: Any) -> bool:
        if isinstance(info, msgspec.inspect.CustomType):
            return is_model(info.cls)
        if isinstance(info, tuple):
            return any(map(found, info))
        if not isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field) or id(info) in seen:
            return False
        seen.add(id(info))
        return any(found(getattr(info, name)) for name in info.__struct_fields__)

    return found(msgspec.inspect.type_info(kind))


def json_plain(value: Any) -> Any:
    """What msgspec does not write by itself: models, and subclasses of numbers and texts, such as a context's times."""
    if is_model(type(value)):
        return value.model_dump(mode="json", by_alias=True)
    return _base(value)


def json_model(kind: Any, value: Any) -> Any:
    """A model within another type, from what its JSON says."""
    if not is_model(kind):
        message = f"JSON cannot be read as {kind!r}"
        raise NotImplementedError(message)
    return kind.model_validate_json(msgspec.json.encode(value))


def plain(value: Any) -> Any:
    """A typed value as dicts and lists; times, bytes and decimals stay what they are."""
    return msgspec.to_builtins(value, builtin_types=_KEPT, enc_hook=_plain)


def reader(kind: Any) -> Callable[[Any], Any]:
    """What makes a typed value of dicts and lists.

    Raises:
        TypeError: if nothing can be read as that type.
    """
    if is_model(kind):
        validated: Callable[[Any], Any] = kind.model_validate
        return validated
    hook = _model if holds_models(kind) else None
    return lambda value: msgspec.convert(value, kind, builtin_types=_KEPT, dec_hook=hook)


def _plain(value: Any) -> Any:
    return value.model_dump(by_alias=True) if is_model(type(value)) else _base(value)


def _model(kind: Any, value: Any) -> Any:
    if not is_model(kind):
        message = f"values cannot be read as {kind!r}"
        raise NotImplementedError(message)
    return kind.model_validate(value)


def _base(value: Any) -> Any:
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    message = f"Encoding objects of type {type(value).__name__} is unsupported"
    raise NotImplementedError(message)
