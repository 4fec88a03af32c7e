"""map, map_values, map_values_with_key and select_key, with one result per record; flat_map and its kin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace._core.operators.functions import CallingOperator, Take, checked_pair, outputs_of, to_all


class StreamMap(CallingOperator[Callable[[Any, Any], tuple[Any, Any]]]):
    """Computes a new key and a new value."""

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(*checked_pair(self._function(key, value), self.name, "map"))

        return take


class StreamMapValues(CallingOperator[Callable[[Any], Any]]):
    """Computes a new value from the old one."""

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(key, self._function(value))

        return take


class StreamMapValuesWithKey(CallingOperator[Callable[[Any, Any], Any]]):
    """Computes a new value from the key and the old value."""

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(key, self._function(key, value))

        return take


class StreamSelectKey(CallingOperator[Callable[[Any, Any], Any]]):
    """Computes a new key from the key and the value."""

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            forward(self._function(key, value), value)

        return take


class StreamFlatMap(CallingOperator[Callable[[Any, Any], Iterable[tuple[Any, Any]]]]):
    """Computes any number of new keys and values."""

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            for pair in outputs_of(self._function(key, value), key, self.name, "flat_map"):
                forward(*checked_pair(pair, self.name, "flat_map"))

        return take


class StreamFlatMapValues(CallingOperator[Callable[[Any], Iterable[Any]]]):
    """Computes any number of new values under the same key."""

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            for mapped in outputs_of(self._function(value), key, self.name, "flat_map_values"):
                forward(key, mapped)

        return take


class StreamFlatMapValuesWithKey(CallingOperator[Callable[[Any, Any], Iterable[Any]]]):
    """Computes any number of new values under the same key, from the key and the old value."""

    def bind(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            for mapped in outputs_of(self._function(key, value), key, self.name, "flat_map_values_with_key"):
                forward(key, mapped)

        return take
