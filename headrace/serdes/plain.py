"""Finds values that `Json()` without a type would read back as something else, and says which serde to use."""

from __future__ import annotations

import enum
from types import NoneType
from typing import Any, Final

import msgspec

from headrace.serdes.models import is_model, to_json_types

_SCALARS: Final = frozenset({str, int, float, bool, NoneType})
_TEXT: Final = frozenset({str})
_OF_SCALARS, _OF_TEXT = _SCALARS.issuperset, _TEXT.issuperset


def is_plain(value: Any) -> bool:
    """Whether `Json()` reads a value back as it was written.

    These are text, numbers, booleans, `None`, lists, and dicts whose keys are text. Values of subclasses of `str`,
    `int` and `float` are plain, because they equal the value that is read back. Enums are not.
    """
    kind = type(value)
    if kind is dict:
        if not _OF_TEXT(map(type, value)) and not all(_is_scalar(key) and isinstance(key, str) for key in value):
            return False
        return _OF_SCALARS(map(type, value.values())) or all(map(is_plain, value.values()))
    if kind is list:
        return _OF_SCALARS(map(type, value)) or all(map(is_plain, value))
    return kind in _SCALARS or _is_scalar(value)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, enum.Enum)


def explain(value: Any) -> str:
    """Says why `Json()` refuses a value that is not plain (see `is_plain`), and which serde to use."""
    part, where = _first_changed(value, "")
    what = f"the {type(part).__name__} at {where}" if where else _with_article(type(part))
    if type(part) is dict:
        key = next(key for key in part if not isinstance(key, str) or isinstance(key, enum.Enum))
        what = f"the key {key!r} of the dict{f' at {where}' if where else ''}"
    problem = f"JSON would not give {what} back as itself, but as {_read_as(part)}"
    if isinstance(part, dict | list) and type(part) not in (dict, list):
        return f"{problem}. Use a plain {'dict' if isinstance(part, dict) else 'list'}"
    if not _is_known(type(part)):
        return (
            f"JSON has no form for {what}. Make it a dataclass and give value_serde=serdes.Json({type(part).__name__}),"
            " or give a serde of your own: value_serde=serdes.serde_from(serialize, deserialize)"
        )
    named = _type_of(value)
    if "Any" in named:
        return (
            f"{problem}. Describe the value by a dataclass or a TypedDict, and give value_serde=serdes.Json(ThatClass)"
        )
    return f"{problem}. Give value_serde=serdes.Json({named})"


def _first_changed(value: Any, where: str) -> tuple[Any, str]:
    """The first part of a value that `Json()` would read back as something else, and its path, e.g. `['tags'][0]`.

    `where` is the path of `value`. If the keys of a dict are not all text, the part is that dict.
    """
    entries: list[tuple[Any, Any]] = []
    if type(value) is dict:
        if not all(isinstance(key, str) and _is_scalar(key) for key in value):
            return value, where
        entries = list(value.items())
    elif type(value) is list:
        entries = list(enumerate(value))
    for key, entry in entries:
        if not is_plain(entry):
            return _first_changed(entry, f"{where}[{key!r}]")
    return value, where


def _read_as(part: Any) -> str:
    if type(part) is dict:
        return "text"
    try:
        plain = msgspec.json.decode(msgspec.json.encode(part, enc_hook=to_json_types))
    except Exception:
        return "something else"
    return "text" if isinstance(plain, str) else _with_article(type(plain))


def _with_article(kind: type) -> str:
    name = kind.__name__
    return f"an {name}" if name[0] in "AEIOUaeiou" else f"a {name}"


def _is_known(kind: type) -> bool:
    try:
        info = msgspec.inspect.type_info(kind)
    except Exception:
        return False
    return not isinstance(info, msgspec.inspect.CustomType) or is_model(kind)


def _type_of(value: Any) -> str:
    """A value's type as one would annotate it, e.g. `dict[str, set[int]]`; `Any` where entries differ."""
    kind = type(value)
    if kind is dict:
        return f"dict[{_common(value)}, {_common(value.values())}]" if value else "dict"
    if kind in (list, set, frozenset):
        return f"{kind.__name__}[{_common(value)}]" if value else kind.__name__
    if kind is tuple:
        return f"tuple[{', '.join(map(_type_of, value))}]" if value else "tuple"
    return "None" if value is None else kind.__name__


def _common(values: Any) -> str:
    names = {_type_of(value) for value in values}
    return names.pop() if len(names) == 1 else "Any"
