"""count on a grouped stream."""

from __future__ import annotations

from typing import Any

from headrace._core.operators.stream_aggregate import StreamAggregate


class StreamCount(StreamAggregate):
    """An aggregate that starts at 0 and grows by 1."""

    def __init__(self, name: str, store: str, *, send_old_values: bool) -> None:
        super().__init__(name, store, int, _one_more, send_old_values=send_old_values)


def _one_more(key: Any, value: Any, count: int) -> int:  # noqa: ARG001
    return count + 1
