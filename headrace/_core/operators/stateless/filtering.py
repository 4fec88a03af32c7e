"""filter, filter_not, split, and filters of repartitions: each record is forwarded as it is, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace._core.operators.functions import FunctionOperator, Take, to_all


class StreamFilter(FunctionOperator):
    """Forwards the records whose predicate answer is `keep`."""

    def __init__(self, name: str, predicate: Callable[[Any, Any], object], *, keep: bool) -> None:
        super().__init__(name)
        self._predicate = predicate
        self._keep = keep

    def bound(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            if bool(self._predicate(key, value)) is self._keep:
                forward(key, value)

        return take


class StreamBranch(FunctionOperator):
    """Children are the branches, in order; a predicate of `None` takes everything."""

    def __init__(self, name: str, predicates: Sequence[Callable[[Any, Any], object] | None]) -> None:
        super().__init__(name)
        self._predicates = tuple(predicates)

    def bound(self, children: Sequence[Take]) -> Take:
        branches = tuple(zip(self._predicates, children, strict=True))

        def take(key: Any, value: Any) -> None:
            for predicate, child in branches:
                if predicate is None or predicate(key, value):
                    child(key, value)
                    return
            self.context.drop(self.name, "no branch")

        return take


class NullKeyFilter(FunctionOperator):
    """Drops records without a key: they have no partition to go to."""

    def bound(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            if key is None:
                self.context.drop(self.name, "null key")
            else:
                forward(key, value)

        return take


class PassThrough(FunctionOperator):
    """Forwards every record unchanged."""

    def bound(self, children: Sequence[Take]) -> Take:
        return to_all(children)
