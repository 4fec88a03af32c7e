"""Nodes that read, change and group tables, and turn them into streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace._graph.nodes.base import STREAM_TIMES, Node, idle_keys
from headrace._graph.nodes.processors import Process
from headrace.model.stores.specs import StoreSpec
from headrace.model.time.emission import BufferConfig
from headrace.serdes import Serde


@dataclass(frozen=True, kw_only=True)
class TableNode(Node):
    """A node that forwards changes of rows, with the old value of the row if `send_old_values` is set.

    If `cached`, it forwards only the last change of a row since the record cache was last flushed.
    """

    send_old_values: bool = False
    cached: bool = False


@dataclass(frozen=True, kw_only=True)
class TableSource(TableNode):
    """Reads records as changes of a table. It has a store if one was named, or if a node after it needs the rows."""

    store_when_needed: StoreSpec


@dataclass(frozen=True, kw_only=True)
class TableFilter(TableNode):
    """Keeps the rows for which the predicate returns `keep`.

    If the table is `versioned`, it also forwards deletions of rows that were not in the result.
    """

    predicate: Callable[[Any, Any], object]
    keep: bool
    versioned: bool


@dataclass(frozen=True, kw_only=True)
class TableMapValues(TableNode):
    """Turns each value into one value, with access to the key."""

    mapper: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class TableTransformValues(TableNode, Process):
    """Computes the values of rows with the user's transformer.

    `rows` is the name of the store with the results, which is then the first of `stores`. It is `None` unless the user
    named a store, or a node after this one looks up the rows.
    """

    rows: str | None
    store_when_needed: StoreSpec


@dataclass(frozen=True, kw_only=True)
class Suppress(TableNode):
    """Holds back the last update of each row until `wait_ms` after the end of its window, or after its first update.

    The rows of a key are also released after `idle_ms` of wall-clock time without an update of the key.
    """

    until_window_closes: bool
    wait_ms: int
    buffer: BufferConfig
    idle_ms: int | None = None

    @property
    def internal_stores(self) -> tuple[str, ...]:
        return (STREAM_TIMES, *((idle_keys(self.name),) if self.idle_ms is not None else ()))


@dataclass(frozen=True, kw_only=True)
class TableGroupBy(Node):
    """Sends each change to the group of the old row and to that of the new row."""

    selector: Callable[[Any, Any], tuple[Any, Any] | None]
    key_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class TableCount(TableNode):
    """Counts the rows of a group."""


@dataclass(frozen=True, kw_only=True)
class TableAggregate(TableNode):
    """Subtracts the old value of a row from the aggregate of its group, then adds the new one."""

    initializer: Callable[[], Any]
    adder: Callable[[Any, Any, Any], Any]
    subtractor: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class TableReduce(TableNode):
    """Subtracts the old value of a row from the value of its group, then adds the new one.

    The first value of a group becomes the value of the group as it is.
    """

    adder: Callable[[Any, Any], Any]
    subtractor: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class TableToStream(Node):
    """Forwards the changes of a table as records of a stream."""
