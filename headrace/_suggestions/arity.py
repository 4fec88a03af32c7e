"""Checks that a function can be called with the arguments that an operator passes."""

from __future__ import annotations

import inspect
from typing import Any, Final

from headrace.errors import TopologyError

# What to use instead if a function takes this number of arguments, which its operator does not pass.
_ALTERNATIVES: Final[dict[tuple[str, int], str]] = {
    ("map_values", 2): "map_values_with_key(mapper)",
    ("flat_map_values", 2): "flat_map_values_with_key(mapper)",
    ("map_values_with_key", 1): "map_values(mapper)",
    ("flat_map_values_with_key", 1): "flat_map_values(mapper)",
}


def checked_arity(function: object, operation: str, signature: str) -> None:
    """Checks that `function` can be called with the arguments of a signature such as `"mapper(key, value)"`.

    Builtins and classes whose parameters are not known to Python are accepted.

    Raises:
        TopologyError: if not. The message names the function, where it is defined, and the arguments it must take.
    """
    if not callable(function):
        message = f"{operation}() needs a function {signature}; got {function!r} of type {type(function).__name__}."
        raise TopologyError(message)
    try:
        parameters = inspect.signature(function)
    except (TypeError, ValueError):
        return
    listed = signature[signature.index("(") + 1 : signature.index(")")]
    arguments = [name.strip() for name in listed.split(",") if name.strip()]
    try:
        parameters.bind(*arguments)
    except TypeError:
        count = len(arguments)
        passed = f"{count} argument{'' if count == 1 else 's'}" if count else "no arguments"
        message = (
            f"{operation}() calls {signature.partition(' -> ')[0]} with {passed}; got {_describe(function)}, "
            f"which takes {parameters}.{_alternative(operation, parameters)}"
        )
        raise TopologyError(message) from None


def _alternative(operation: str, parameters: inspect.Signature) -> str:
    required = [p for p in parameters.parameters.values() if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    alternative = _ALTERNATIVES.get((operation, len(required)))
    return f" For such a function, use {alternative}." if alternative else ""


def _describe(function: Any) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__qualname__", None) or repr(function)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"
