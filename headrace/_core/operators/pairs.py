"""Checks on what user functions return."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.errors import ProcessingError


def checked_pair(result: Any, operator: str, operation: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        message = f"{operator}: the function given to {operation}() must return (key, value); it returned {result!r}."
        raise ProcessingError(message)
    return result


def checked_iterable(result: Any, operator: str, operation: str) -> Iterable[Any]:
    if not isinstance(result, Iterable):
        message = f"{operator}: the function given to {operation}() must return an iterable; it returned {result!r}."
        raise ProcessingError(message)
    return result
