"""map, map_values, map_values_with_key and select_key: one record in, one record out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.pairs import checked_pair
from headrace.record import Record


class StreamMap(Operator):
    """A new key and a new value."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def process(self, record: AnyRecord) -> None:
        key, value = checked_pair(self._mapper(record.key, record.value), self.name, "map")
        self.forward(Record(key, value, record.timestamp_ms, record.headers))


class StreamMapValues(Operator):
    """A new value from the old one."""

    def __init__(self, name: str, mapper: Callable[[Any], Any]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_value(self._mapper(record.value)))


class StreamMapValuesWithKey(Operator):
    """A new value from key and old value."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], Any]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_value(self._mapper(record.key, record.value)))


class StreamSelectKey(Operator):
    """A new key from key and value."""

    def __init__(self, name: str, selector: Callable[[Any, Any], Any]) -> None:
        super().__init__(name)
        self._selector = selector

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_key(self._selector(record.key, record.value)))
