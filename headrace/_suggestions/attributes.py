"""Errors for unknown attributes of public classes and of the package, which suggest the right name.

Python calls `__getattr__` only after the normal lookup has failed, so names that exist cost nothing.
"""

from __future__ import annotations

import dis
import sys
from abc import ABCMeta
from collections.abc import Callable, Collection
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from headrace._suggestions.kafka_names import CLASS_SUFFIXES, CLASSES, METHODS
from headrace.errors import UnknownNameError, nearest

T = TypeVar("T")

_TYPO = 0.85  # similarity of a misspelt name; Java's many `...ExceptionHandler` are less similar to ours
_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def canonical(name: str) -> str:
    """A name in lower case without underscores, so that `mapValues`, `map_values` and `mapvalues` are found equal."""
    return name.replace("_", "").lower()


def suggestion(name: str, known: Collection[str], hints: dict[str, str]) -> str:
    """A sentence, with a space before it, that says what to write instead of a name; empty if nothing is close."""
    return _translation(name, known, hints) or nearest(name, known)


def _translation(name: str, known: Collection[str], hints: dict[str, str]) -> str:
    guess = canonical(name)
    for candidate in known:
        if canonical(candidate) == guess:
            return f" Did you mean {candidate!r}?"
    for hint_name, hint in hints.items():
        if canonical(hint_name) == guess:
            return f" {hint}"
    return ""


def suggest_attributes(kind: type[T]) -> type[T]:
    """A class decorator: an unknown attribute of an instance raises an `UnknownNameError` with a suggestion.

    The error names the class, or its `_public_name` if it has one.
    """
    if not any("__getattr__" in vars(base) for base in kind.__mro__):
        kind.__getattr__ = _refuse_on_instance  # type: ignore[attr-defined]
    return kind


def module_lookup(module: str, names: Collection[str]) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a module: it raises an error that says what to write instead of an unknown name.

    `from headrace import Materialized` would replace an `AttributeError` with an `ImportError` without explanation, so
    that case raises an `ImportError` itself.
    """

    def look_up(name: str) -> NoReturn:
        if name.startswith("_"):
            message = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(message)
        advice = _translation(name, names, CLASSES) or nearest(name, names, _TYPO)
        advice = advice or _by_suffix(name) or nearest(name, names)
        message = f"module {module!r} has no {name!r}.{advice}"
        if _is_import(sys._getframe(1)):
            raise ImportError(message, name=module)
        raise UnknownNameError(message)

    return look_up


def _by_suffix(name: str) -> str:
    return next((f" {hint}" for suffix, hint in CLASS_SUFFIXES.items() if name.endswith(suffix)), "")


def _is_import(frame: FrameType) -> bool:
    code = frame.f_code.co_code
    return 0 <= frame.f_lasti < len(code) and code[frame.f_lasti] == _IMPORT_FROM


class SuggestingMeta(ABCMeta):
    """The metaclass of classes with factory methods: explains unknown ones, such as `TimeWindows.ofSize`.

    It extends `ABCMeta` so that such a class may have abstract bases.
    """

    if not TYPE_CHECKING:  # type checkers must still refuse unknown names

        def __getattr__(cls, name: str) -> NoReturn:
            _refuse(cls, name, f"type object {cls.__name__!r}")


def _refuse_on_instance(self: object, name: str) -> NoReturn:
    # Looks only at the class, because `copy` and `pickle` look up attributes of objects that have no fields yet.
    kind = type(self)
    _refuse(kind, name, f"{getattr(kind, '_public_name', kind.__name__)!r} object")


def _refuse(kind: type, name: str, subject: str) -> NoReturn:
    message = f"{subject} has no attribute {name!r}"
    if name.startswith("_"):
        raise AttributeError(message)
    raise UnknownNameError(f"{message}.{suggestion(name, _public_names(kind), hints_for(kind))}")


def hints_for(kind: type) -> dict[str, str]:
    """Maps names of Kafka Streams that a class does not have to hints on what to write instead."""
    hints = dict(METHODS["*"])
    for base in reversed(kind.__mro__):
        hints |= METHODS.get(base.__name__, {})
    return hints


def _public_names(kind: type) -> list[str]:
    names = {name for base in kind.__mro__ if base.__module__.startswith("headrace") for name in vars(base)}
    fields = {name for base in kind.__mro__ for name in getattr(base, "__annotations__", {})}
    return sorted(name for name in names | fields if not name.startswith("_"))
