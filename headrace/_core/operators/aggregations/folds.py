"""count and reduce in terms of aggregate: how they add or remove a value, and how they merge two sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Fold(NamedTuple):
    """The functions of an aggregation: `aggregator(key, value, aggregate)`, `merger(key, left, right)` for sessions."""

    initializer: Callable[[], Any]
    aggregator: Callable[[Any, Any, Any], Any]
    merger: Callable[[Any, Any, Any], Any] | None = None


def one_more(key: Any, value: Any, count: int) -> int:  # noqa: ARG001
    return count + 1


def one_less(key: Any, value: Any, count: int) -> int:  # noqa: ARG001
    return count - 1


def counting() -> Fold:
    """Counts records; counts of merged sessions add up."""
    return Fold(int, one_more, lambda _, left, right: left + right)


def reducing(reducer: Callable[[Any, Any], Any]) -> Fold:
    """Reduces values, starting with the first; an aggregate of `None` means that there is no value yet."""
    return Fold(
        lambda: None,
        lambda _, value, aggregate: value if aggregate is None else reducer(aggregate, value),
        lambda _, left, right: right if left is None else reducer(left, right),
    )


def subtracting(subtractor: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Removes a value from the reduced one; if the subtractor returns `None`, the next value starts again."""
    return lambda _, value, aggregate: subtractor(aggregate, value)
