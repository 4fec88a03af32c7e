"""split: each record to the first branch that takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace._core.operators.function_operator import FunctionOperator, Take


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
