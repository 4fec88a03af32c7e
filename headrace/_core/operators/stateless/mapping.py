"""map, map_values, map_values_with_key, select_key: one record out of one; flat_map, flat_map_values: any number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace._core.operators.functions import FunctionOperator, Take, checked_iterable, checked_pair, to_all


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
