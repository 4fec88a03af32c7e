"""Argument checks that the fluent classes share: errors at build time, not when the topology runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta

from headrace._suggestions.arity import checked_arity
from headrace.errors import TopologyError
from headrace.model.processor import AnyProcessor


def checked_callable(function: object, operation: str, signature: str) -> None:
    """Raises an error unless `function` can be called with the arguments of `signature`, e.g. `"mapper(value)"`."""
    checked_arity(function, operation, signature)


def first_accepted(function: Callable[..., object], *counts: int) -> int | None:
    """The first of these numbers of positional arguments that a function can be called with, or `None`.

    Functions that do not show their parameters, such as `max`, are taken to accept the first number.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return counts[0]
    for count in counts:
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count
    return None


def checked_partitioner(partitioner: object, operation: str) -> None:
    """Raises an error if a partitioner has the wrong parameters; `None` means Kafka's default partitioner."""
    if partitioner is not None:
        checked_callable(partitioner, operation, "partitioner(topic, key, value, partitions)")


def checked_duration(duration: object, subject: str, *, at_least_ms: int | None = 1) -> int:
    """Checks a duration and converts it to milliseconds.

    Errors begin with `subject`. With `at_least_ms=None`, negative durations are allowed.
    """
    if not isinstance(duration, timedelta):
        message = (
            f"{subject} is {duration!r} of type {type(duration).__name__}; "
            "a duration is a timedelta, e.g. timedelta(minutes=5)."
        )
        raise TopologyError(message)
    duration_ms = duration // timedelta(milliseconds=1)
    if at_least_ms is not None and duration_ms < at_least_ms:
        message = f"{subject} is {duration}; it must be at least {'one millisecond' if at_least_ms else '0'}."
        raise TopologyError(message)
    return duration_ms


def checked_factory(factory: object, operation: str) -> None:
    """Raises an error if a factory cannot create a new processor for every task."""
    advice = "Pass a Processor class, or a function without arguments that returns a new processor each time."
    if isinstance(factory, AnyProcessor):
        message = f"{operation} was given the processor {factory!r} itself, which tasks cannot share. {advice}"
        raise TopologyError(message)
    if not callable(factory):
        message = f"{operation} was given {factory!r} of type {type(factory).__name__} to make processors. {advice}"
        raise TopologyError(message)
    required = _required_arguments(factory)
    if required:
        message = f"{operation} was given {factory!r}, which needs the arguments {required}. {advice}"
        raise TopologyError(message)


def _required_arguments(factory: Callable[..., object]) -> str:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return ""
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return ", ".join(p.name for p in parameters if p.default is p.empty and p.kind not in optional)
