"""Argument checks the fluent classes share: refuse at build time what can be known then."""

from __future__ import annotations

from headrace.errors import TopologyError


def checked_callable(function: object, operation: str, signature: str) -> None:
    if not callable(function):
        message = f"{operation}() needs a function {signature}; got {function!r} of type {type(function).__name__}."
        raise TopologyError(message)
