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
    """Returns a `Fold` that counts records; counts of merged sessions add up."""
    return Fold(int, one_more, lambda _, left, right: left + right)


def reducing(reducer: Callable[[Any, Any], Any]) -> Fold:
    """Returns a `Fold` that reduces values, starting with the first.

    If `reducer` returns `None`, the aggregate is deleted, and the next value starts a new one.
    """
    return Fold(
        lambda: None,
        lambda _, value, aggregate: value if aggregate is None else reducer(aggregate, value),
        lambda _, left, right: right if left is None else reducer(left, right),
    )


def subtracting(subtractor: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any]:
    """Returns a function that removes a value from the aggregate of `reducing`, with the user's `subtractor`.

    If `subtractor` returns `None`, the aggregate is deleted, and the next value starts a new one.
    """
    return lambda _, value, aggregate: subtractor(aggregate, value)
