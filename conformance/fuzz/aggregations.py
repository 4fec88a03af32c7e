"""Builds the aggregations of a described topology with Headrace, with and without windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import headrace as hr
from conformance.fuzz.description import Node
from conformance.fuzz.functions import AGGREGATORS, REDUCERS, show
from conformance.fuzz.windows import windows_of


def aggregated(grouped: Any, node: Node, row_options: dict[str, Any], *, of_table: bool) -> Any:
    """The table of a count, a reduce or an aggregate; `row_options` are the store and the serde of its values."""
    windows = node.options.get("windows")
    if windows is not None:
        grouped = grouped.windowed_by(windows_of(windows))
        if "emit" in node.options:
            grouped = grouped.emit_strategy(hr.EmitStrategy.on_window_close())
    if node.op == "count":
        return grouped.count(**{name: option for name, option in row_options.items() if name == "store"})
    if node.op == "reduce":
        reducer = REDUCERS[node.options["fn"]]
        return grouped.reduce(reducer.add, *([reducer.subtract] if of_table else []), **row_options)
    aggregator = AGGREGATORS[node.options["fn"]]
    more = [aggregator.subtract] if of_table else [aggregator.merge] if _is_session(windows) else []
    return grouped.aggregate(lambda: aggregator.initial, aggregator.add, *more, **row_options)


def cogrouped(grouped: Sequence[Any], node: Node, row_options: dict[str, Any]) -> Any:
    """The table of a cogroup of one or more grouped streams."""
    aggregator = AGGREGATORS[node.options["fn"]]
    together = grouped[0].cogroup(_starred(aggregator.add, ""))
    for number, other in enumerate(grouped[1:], 1):
        together = together.cogroup(other, _starred(aggregator.add, "*" * number))
    windows = node.options.get("windows")
    if windows is not None:
        together = together.windowed_by(windows_of(windows))
    more = [aggregator.merge] if _is_session(windows) else []
    return together.aggregate(lambda: aggregator.initial, *more, **row_options)


def _starred(add: Callable[[Any, Any, Any], Any], stars: str) -> Callable[[Any, Any, Any], Any]:
    """Marks the values of one input of a cogroup."""
    return lambda key, value, aggregate: add(key, show(value) + stars, aggregate)


def _is_session(windows: dict[str, Any] | None) -> bool:
    return windows is not None and windows["type"] == "session"
