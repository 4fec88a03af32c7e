"""Argument checks the fluent classes share: refuse at build time what can be known then."""

from __future__ import annotations

from datetime import timedelta

from headrace.errors import TopologyError


def checked_callable(function: object, operation: str, signature: str) -> None:
    if not callable(function):
        message = f"{operation}() needs a function {signature}; got {function!r} of type {type(function).__name__}."
        raise TopologyError(message)


def checked_duration(duration: object, subject: str, *, at_least_ms: int = 1) -> int:
    """A duration in milliseconds; `subject` names in messages what it is for."""
    if not isinstance(duration, timedelta):
        message = (
            f"{subject} is {duration!r} of type {type(duration).__name__}; "
            "a duration is a timedelta, e.g. timedelta(minutes=5)."
        )
        raise TopologyError(message)
    duration_ms = duration // timedelta(milliseconds=1)
    if duration_ms < at_least_ms:
        message = f"{subject} is {duration}; it must be at least {'one millisecond' if at_least_ms else '0'}."
        raise TopologyError(message)
    return duration_ms
