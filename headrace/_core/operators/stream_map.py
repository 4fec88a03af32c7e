"""map, map_values, map_values_with_key and select_key: one record in, one record out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace._core.operators.function_operator import FunctionOperator, Take, to_all
from headrace._core.operators.pairs import checked_pair


class StreamMap(FunctionOperator):
    """A new key and a new value."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bound(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(*checked_pair(self._mapper(key, value), self.name, "map"))

        return take


class StreamMapValues(FunctionOperator):
    """A new value from the old one."""

    def __init__(self, name: str, mapper: Callable[[Any], Any]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bound(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(key, self._mapper(value))

        return take


class StreamMapValuesWithKey(FunctionOperator):
    """A new value from key and old value."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], Any]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bound(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(key, self._mapper(key, value))

        return take


class StreamSelectKey(FunctionOperator):
    """A new key from key and value."""

    def __init__(self, name: str, selector: Callable[[Any, Any], Any]) -> None:
        super().__init__(name)
        self._selector = selector

    def bound(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(self._selector(key, value), value)

        return take
