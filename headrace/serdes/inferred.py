"""Serdes inferred from the functions of a topology: from their annotations, or from a class that creates values."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import msgspec

from headrace.serdes.base import Serde
from headrace.serdes.json_ import Json
from headrace.serdes.models import is_model
from headrace.serdes.primitives import Bool, Bytes, Double, Long, String, Uuid

# Serdes that can write every value of a type. `Int` cannot: a Python `int` may need more than 32 bits.
_TYPES: Final[dict[type[Serde[Any]], str]] = {
    String: "str",
    Bytes: "bytes",
    Long: "int",
    Double: "float",
    Bool: "bool",
    Uuid: "UUID",
}
_TEXT_METHODS: Final = frozenset(
    getattr(str, name)
    for name in (
        *("capitalize", "casefold", "expandtabs", "lower", "lstrip", "removeprefix", "removesuffix", "replace"),
        *("rstrip", "strip", "swapcase", "title", "translate", "upper"),
    )
)
_TEXT_LIST_METHODS: Final = frozenset({str.split, str.rsplit, str.splitlines})
_PLAIN: Final = (
    *(msgspec.inspect.AnyType, msgspec.inspect.NoneType, msgspec.inspect.BoolType, msgspec.inspect.IntType),
    *(msgspec.inspect.FloatType, msgspec.inspect.StrType),
)


class Inferred(Serde[Any]):
    """The serde of values for which the user gave no serde, but whose type is known from a function.

    If the default serde is `Json()`, which would read such values back as another type, it becomes `Json(type)`. Any
    other default serde is used as it is.
    """

    def __init__(self, type: Any) -> None:  # noqa: A002
        self.type = type

    def with_default(self, inner: Serde[Any]) -> Serde[Any]:
        return Json(self.type) if type(inner) is Json and inner.repeatable else inner

    def __repr__(self) -> str:
        return repr(Json(self.type))


def serde_of_results(function: Callable[..., Any], serde: Serde[Any] | None = None) -> Serde[Any] | None:
    """Returns the serde for the results of a function, by its annotations; `None` to use the default serde.

    If the function returns the type that `serde` writes, `serde` is returned.
    """
    return _serde_for(_returned_type(function), serde)


def serde_of_entries(function: Callable[..., Any], serde: Serde[Any] | None = None) -> Serde[Any] | None:
    """Like `serde_of_results`, but for the single entries of the iterable that a function returns."""
    if function in _TEXT_LIST_METHODS:
        return _serde_for(str, serde)
    returned = _returned_type(function)
    origin, arguments = typing.get_origin(returned), typing.get_args(returned)
    if isinstance(origin, type) and issubclass(origin, Iterable) and len(arguments) >= 1 and origin is not dict:
        fixed = origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis)
        return None if fixed else _serde_for(arguments[0], serde)
    return None


def _serde_for(kind: Any, serde: Serde[Any] | None) -> Serde[Any] | None:
    if kind is None:
        return None
    if serde is not None and _writes(serde, kind):
        return serde
    return Inferred(kind) if _needs_type(kind) else None


def _writes(serde: Serde[Any], kind: Any) -> bool:
    if isinstance(serde, Inferred):
        return bool(serde.type == kind)
    if type(serde) in _TYPES:
        return isinstance(kind, type) and kind.__name__ == _TYPES[type(serde)]
    typed = getattr(serde, "_type", None)  # of Json, Avro and JsonSchema
    return typed is not None and bool(typed == kind)


def _returned_type(function: Callable[..., Any]) -> Any:
    """The type of a function's results, where `T | None` counts as `T`; `None` if it is unknown.

    A class returns its instances. Any other function may have an annotation.
    """
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type | types.GenericAlias):
        return function
    try:
        if function in _TEXT_METHODS:
            return str
        returned = typing.get_type_hints(function, include_extras=True).get("return")
    except Exception:  # not hashable, no function, or a name that only type checkers know
        return None
    if typing.get_origin(returned) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(returned) if kind is not types.NoneType]
        returned = kinds[0] if len(kinds) == 1 else returned
    return None if returned is types.NoneType else returned


def _needs_type(kind: Any) -> bool:
    """Whether `Json()` would read values of a type back as another type, but `Json(type)` would not."""
    try:
        info = msgspec.inspect.type_info(kind)
    except Exception:  # msgspec cannot read the type at all: the first value is refused
        return False
    return _is_readable(info, set()) and not _is_plain(info)


def _is_plain(info: Any) -> bool:
    if isinstance(info, msgspec.inspect.UnionType):
        return all(map(_is_plain, info.types))
    if isinstance(info, msgspec.inspect.ListType):
        return _is_plain(info.item_type)
    if isinstance(info, msgspec.inspect.DictType):
        keys = isinstance(info.key_type, msgspec.inspect.AnyType | msgspec.inspect.StrType)
        return keys and _is_plain(info.value_type)
    return isinstance(info, _PLAIN)


def _is_readable(info: Any, seen: set[int]) -> bool:
    """Whether `Json` can read a type: no part of it is a class that neither msgspec nor pydantic knows."""
    if isinstance(info, msgspec.inspect.CustomType):
        return is_model(info.cls)
    if isinstance(info, tuple):
        return all(_is_readable(part, seen) for part in info)
    if not isinstance(info, msgspec.inspect.Type | msgspec.inspect.Field) or id(info) in seen:
        return True
    seen.add(id(info))
    return all(_is_readable(getattr(info, name), seen) for name in info.__struct_fields__)
