"""count and aggregate on a grouped table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operators.aggregation import Aggregation
from headrace._core.timestamps import latest


class TableAggregate(Aggregation):
    """Subtracts the old value of a row, then adds the new one.

    Nothing is subtracted from a group that has no aggregate.
    """

    def __init__(
        self,
        name: str,
        store: str,
        initializer: Callable[[], Any],
        adder: Callable[[Any, Any, Any], Any],
        subtractor: Callable[[Any, Any, Any], Any],
        *,
        send_old_values: bool,
    ) -> None:
        super().__init__(name, store, send_old_values=send_old_values)
        self._initializer = initializer
        self._adder = adder
        self._subtractor = subtractor

    def folded(self, key: Any, value: Any, timestamp_ms: int, row: tuple[Any, int] | None) -> tuple[Any, int]:
        group, change, aggregate = key, value, None
        if row is not None:
            aggregate = row[0]
            timestamp_ms = latest(timestamp_ms, row[1])
            if change.old is not None:
                aggregate = self._subtractor(group, change.old, aggregate)
        if change.new is not None:
            base = self._initializer() if aggregate is None else aggregate
            aggregate = self._adder(group, change.new, base)
        return aggregate, timestamp_ms
