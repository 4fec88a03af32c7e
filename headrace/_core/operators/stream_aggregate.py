"""count and aggregate on a grouped stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operators.grouped_stream import StreamAggregation
from headrace._core.timestamps import latest


class StreamAggregate(StreamAggregation):
    """The initializer starts the aggregate of a key, the aggregator goes on with it."""

    def __init__(
        self,
        name: str,
        store: str,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        *,
        send_old_values: bool,
    ) -> None:
        super().__init__(name, store, send_old_values=send_old_values)
        self._initializer = initializer
        self._aggregator = aggregator

    def folded(self, key: Any, value: Any, timestamp_ms: int, row: tuple[Any, int] | None) -> tuple[Any, int]:
        if row is None:
            return self._aggregator(key, value, self._initializer()), timestamp_ms
        return self._aggregator(key, value, row[0]), latest(timestamp_ms, row[1])
