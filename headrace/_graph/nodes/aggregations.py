"""Nodes of aggregations: one row for every key of a stream, or for every window of a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace._graph.nodes.base import STREAM_TIMES, idle_keys, open_windows
from headrace._graph.nodes.tables import TableNode
from headrace.model.time.windows import AnyWindows


@dataclass(frozen=True, kw_only=True)
class StreamCount(TableNode):
    """Counts the records of a key."""


@dataclass(frozen=True, kw_only=True)
class StreamAggregate(TableNode):
    """Folds the records of a key into an aggregate."""

    initializer: Callable[[], Any]
    aggregator: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class StreamReduce(TableNode):
    """Folds the values of a key into one value, starting with the first."""

    reducer: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class CountFold:
    """Counts the records of a window."""


@dataclass(frozen=True)
class ReduceFold:
    """Folds the values of a window into one value, starting with the first."""

    reducer: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class AggregateFold:
    """Aggregates the records of a window, starting with `initializer()`; `merger` merges two sessions' aggregates."""

    initializer: Callable[[], Any]
    aggregator: Callable[[Any, Any, Any], Any]
    merger: Callable[[Any, Any, Any], Any] | None = None


@dataclass(frozen=True, kw_only=True)
class WindowedAggregate(TableNode):
    """Folds the records of a key into an aggregate per window.

    `emit_on_close` holds results back until their window closes. Records that are too late go to `late_sink`, a child,
    if there is one. The windows of a key close after `idle_ms` of wall-clock time without a record of the key, in this
    aggregation and in those that share its store (`sharing`, the other aggregations of a cogroup).
    """

    windows: AnyWindows
    fold: CountFold | ReduceFold | AggregateFold
    emit_on_close: bool = False
    late_sink: str | None = None
    sharing: tuple[str, ...] = ()
    idle_ms: int | None = None

    @property
    def internal_stores(self) -> tuple[str, ...]:
        held = (open_windows(self.name),) if self.emit_on_close else ()
        return (STREAM_TIMES, *held, *((idle_keys(self.name),) if self.idle_ms is not None else ()))


@dataclass(frozen=True, kw_only=True)
class CogroupMerge(TableNode):
    """The table of a cogroup: merges the changes of its aggregations, which share one store."""
