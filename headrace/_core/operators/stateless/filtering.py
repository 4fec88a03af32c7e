"""filter, filter_not, split, and the null-key filter of repartitions: records pass unchanged, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace._core.drop_reasons import DropReason
from headrace._core.operators.functions import FunctionOperator, Take, to_all


class StreamFilter(FunctionOperator):
    """Forwards the records for which the predicate returns `keep`."""

    def __init__(self, name: str, predicate: Callable[[Any, Any], object], *, keep: bool) -> None:
        super().__init__(name)
        self._predicate = predicate
        self._keep = keep

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            if bool(self._predicate(key, value)) is self._keep:
                forward(key, value)

        return take


class StreamBranch(FunctionOperator):
    """Forwards each record to the first child whose predicate holds; a predicate of `None` always holds.

    A record for which no predicate holds is dropped and counted.
    """

    def __init__(self, name: str, predicates: Sequence[Callable[[Any, Any], object] | None]) -> None:
        super().__init__(name)
        self._predicates = tuple(predicates)

    def bind(self, children: Sequence[Take]) -> Take:
        branches = tuple(zip(self._predicates, children, strict=True))

        def take(key: Any, value: Any) -> None:
            for predicate, child in branches:
                if predicate is None or predicate(key, value):
                    child(key, value)
                    return
            self.context.drop(self.name, DropReason.NO_BRANCH)

        return take


class NullKeyFilter(FunctionOperator):
    """Drops records without a key before a repartition, and counts them."""

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            if key is None:
                self.context.drop(self.name, DropReason.NULL_KEY)
            else:
                forward(key, value)

        return take


class PassThrough(FunctionOperator):
    """Forwards every record unchanged."""

    def bind(self, children: Sequence[Take]) -> Take:
        return to_all(children)
