"""map, map_values and select_key, with one result per record; flat_map and flat_map_values, with any number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace._core.operators.functions import FunctionOperator, Take, checked_pair, outputs_of, to_all


class StreamMap(FunctionOperator):
    """Computes a new key and a new value."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(*checked_pair(self._mapper(key, value), self.name, "map"))

        return take


class StreamMapValues(FunctionOperator):
    """Computes a new value from the old one."""

    def __init__(self, name: str, mapper: Callable[[Any], Any]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(key, self._mapper(value))

        return take


class StreamMapValuesWithKey(FunctionOperator):
    """Computes a new value from the key and the old value."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], Any]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(key, self._mapper(key, value))

        return take


class StreamSelectKey(FunctionOperator):
    """Computes a new key from the key and the value."""

    def __init__(self, name: str, selector: Callable[[Any, Any], Any]) -> None:
        super().__init__(name)
        self._selector = selector

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(self._selector(key, value), value)

        return take


class StreamFlatMap(FunctionOperator):
    """Computes any number of new keys and values."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], Iterable[tuple[Any, Any]]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            for pair in outputs_of(self._mapper(key, value), key, self.name, "flat_map"):
                forward(*checked_pair(pair, self.name, "flat_map"))

        return take


class StreamFlatMapValues(FunctionOperator):
    """Computes any number of new values under the same key."""

    def __init__(self, name: str, mapper: Callable[[Any], Iterable[Any]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            for mapped in outputs_of(self._mapper(value), key, self.name, "flat_map_values"):
                forward(key, mapped)

        return take


class StreamFlatMapValuesWithKey(FunctionOperator):
    """Computes any number of new values under the same key, from the key and the old value."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], Iterable[Any]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            for mapped in outputs_of(self._mapper(key, value), key, self.name, "flat_map_values_with_key"):
                forward(key, mapped)

        return take
