"""Makes public classes explain unknown attributes and wrong arguments. Called once, when the package is imported.

Wrong arguments are unknown keywords, options given by position, and serdes or extractors that are none.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from enum import Enum
from typing import Any, Protocol

import msgspec

from headrace._suggestions.arity import checked_arity
from headrace._suggestions.attributes import suggest_attributes, suggestion
from headrace._suggestions.kafka_names import ARGUMENTS, POSITIONAL
from headrace.errors import ArgumentError
from headrace.serdes.checks import checked_serde

_KEYWORD_ONLY, _POSITIONAL = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
_EXTRACTORS = ("timestamp_extractor",)


def suggest_names(things: Iterable[Any]) -> None:
    """Makes the classes among some public things explain unknown attributes, and unknown arguments of their methods.

    Protocols only describe types, and exceptions and enums have no names to guess. Classes that users extend or create
    for each record explain attributes, but their methods are not wrapped.
    """
    for kind in things:
        if not isinstance(kind, type) or issubclass(kind, Exception | Enum | tuple) or Protocol in kind.__bases__:
            continue
        suggest_attributes(kind)
        if ABC not in kind.__mro__ and not issubclass(kind, msgspec.Struct):
            _check_arguments(kind)


def _check_arguments(kind: type) -> None:
    """Makes the constructor and all public methods explain wrong arguments, and say what to write instead.

    These methods build topologies or run applications; none is called for each record.
    """
    for base in kind.__mro__:
        if not base.__module__.startswith("headrace."):
            continue
        for name, member in list(vars(base).items()):
            if name.startswith("_") and (name != "__init__" or is_dataclass(base)):
                continue
            function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if inspect.isfunction(function) and not hasattr(function, "__wrapped__"):
                wrapped: Any = _checking(function, is_static=isinstance(member, staticmethod))
                if isinstance(member, classmethod | staticmethod):
                    wrapped = type(member)(wrapped)
                setattr(base, name, wrapped)


def _checking(function: Callable[..., Any], *, is_static: bool) -> Callable[..., Any]:
    def title_of(args: Sequence[Any]) -> str:
        owner = args[0] if args and not is_static else None
        kind = owner if isinstance(owner, type) else type(owner)
        owner_name = function.__qualname__.rpartition(".")[0] if owner is None else kind.__name__
        return owner_name if function.__name__ == "__init__" else f"{owner_name}.{function.__name__}"

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        for name, value in options.items():
            if value is None:
                continue
            if name.endswith("_serde"):
                checked_serde(value, f"{title_of(args)}(): {name}", name)
            elif name in _EXTRACTORS:
                checked_arity(value, title_of(args), f"{name}(record, partition_time_ms)")
        try:
            return function(*args, **options)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:
                raise  # the error comes from inside the function
            given = args if is_static else args[1:]
            message = _explain(function, title_of(args), given, options, str(error), is_static=is_static)
            raise ArgumentError(message) from None

    return call


def _explain(
    function: Callable[..., Any],
    title: str,
    given: Sequence[object],
    options: Mapping[str, object],
    error: str,
    *,
    is_static: bool,
) -> str:
    parameters = list(inspect.signature(function).parameters.values())[0 if is_static else 1 :]
    named = [parameter.name for parameter in parameters]
    positional = [parameter.name for parameter in parameters if parameter.kind is _POSITIONAL]
    keywords = [parameter.name for parameter in parameters if parameter.kind is _KEYWORD_ONLY]
    for name in options:
        if name not in named:
            takes = ", ".join(named) or "nothing"
            return f"{title}() has no argument {name!r}.{suggestion(name, named, ARGUMENTS)} It takes: {takes}."
    if len(given) > len(positional):
        surplus = [_as_keyword(value, keywords) for value in given[len(positional) :]]
        takes = ", ".join(positional) or "no argument"
        named_options = ", ".join(f"{name}=" for name in keywords)
        advice = f" Write {', '.join(surplus)}." if all(surplus) else ""
        others = f" Give these by name: {named_options}." if keywords else ""
        return f"{title}() takes {takes} by position; {len(given)} were given.{advice}{others}"
    return f"{error.replace(function.__qualname__, title, 1)}. It takes: {', '.join(named) or 'nothing'}."


def _as_keyword(value: object, keywords: Sequence[str]) -> str:
    """The keyword for an option that was passed by position, if the type of the value determines it; else empty."""
    names = (POSITIONAL[base.__name__] for base in type(value).__mro__ if base.__name__ in POSITIONAL)
    return next((f"{name}=..." for name in names if name in keywords), "")
