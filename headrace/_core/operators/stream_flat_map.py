"""flat_map and flat_map_values: one record in, any number out, in iteration order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace._core.operators.function_operator import FunctionOperator, Take, to_all
from headrace._core.operators.pairs import checked_iterable, checked_pair


class StreamFlatMap(FunctionOperator):
    """New keys and values."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], Iterable[tuple[Any, Any]]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bound(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            for pair in checked_iterable(self._mapper(key, value), self.name, "flat_map"):
                forward(*checked_pair(pair, self.name, "flat_map"))

        return take


class StreamFlatMapValues(FunctionOperator):
    """New values under the same key."""

    def __init__(self, name: str, mapper: Callable[[Any], Iterable[Any]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bound(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            for mapped in checked_iterable(self._mapper(value), self.name, "flat_map_values"):
                forward(key, mapped)

        return take
