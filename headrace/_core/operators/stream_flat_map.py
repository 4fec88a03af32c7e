"""flat_map and flat_map_values: one record in, any number out, in iteration order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.pairs import checked_iterable, checked_pair
from headrace.record import Record


class StreamFlatMap(Operator):
    """New keys and values."""

    def __init__(self, name: str, mapper: Callable[[Any, Any], Iterable[tuple[Any, Any]]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def process(self, record: AnyRecord) -> None:
        for pair in checked_iterable(self._mapper(record.key, record.value), self.name, "flat_map"):
            key, value = checked_pair(pair, self.name, "flat_map")
            self.forward(Record(key, value, record.timestamp_ms, record.headers))


class StreamFlatMapValues(Operator):
    """New values under the same key."""

    def __init__(self, name: str, mapper: Callable[[Any], Iterable[Any]]) -> None:
        super().__init__(name)
        self._mapper = mapper

    def process(self, record: AnyRecord) -> None:
        for value in checked_iterable(self._mapper(record.value), self.name, "flat_map_values"):
            self.forward(record.with_value(value))
