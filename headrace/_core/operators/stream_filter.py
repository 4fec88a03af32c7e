"""filter and filter_not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace._core.operators.function_operator import FunctionOperator, Take, to_all


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
