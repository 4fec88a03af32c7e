"""reduce on a grouped table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operators.table_aggregate import TableAggregate


class TableReduce(TableAggregate):
    """An aggregate of the values' own kind: the first value of a group, or the first after it ran empty, starts it."""

    def __init__(
        self,
        name: str,
        store: str,
        adder: Callable[[Any, Any], Any],
        subtractor: Callable[[Any, Any], Any],
        *,
        send_old_values: bool,
    ) -> None:
        super().__init__(
            name,
            store,
            _nothing,
            lambda _, value, aggregate: value if aggregate is None else adder(aggregate, value),
            lambda _, value, aggregate: subtractor(aggregate, value),
            send_old_values=send_old_values,
        )


def _nothing() -> None:
    """A reduction starts with its first value."""
