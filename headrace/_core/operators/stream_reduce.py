"""reduce on a grouped stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operators.grouped_stream import StreamAggregation
from headrace._core.timestamps import latest


class StreamReduce(StreamAggregation):
    """The first value of a key starts its aggregate."""

    def __init__(self, name: str, store: str, reducer: Callable[[Any, Any], Any], *, send_old_values: bool) -> None:
        super().__init__(name, store, send_old_values=send_old_values)
        self._reducer = reducer

    def folded(self, key: Any, value: Any, timestamp_ms: int, row: tuple[Any, int] | None) -> tuple[Any, int]:  # noqa: ARG002
        if row is None:
            return value, timestamp_ms
        return self._reducer(row[0], value), latest(timestamp_ms, row[1])
