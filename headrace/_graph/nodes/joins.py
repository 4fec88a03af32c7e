"""Nodes of joins by the key of a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace._graph.nodes.base import STREAM_TIMES, Node, idle_keys
from headrace._graph.nodes.tables import TableNode


@dataclass(frozen=True, kw_only=True)
class JoinWindow(Node):
    """Keeps the records of one side of a join for the other to find."""


@dataclass(frozen=True, kw_only=True)
class StreamJoin(Node):
    """Joins the records of one side with those that are kept of the other: the first of its stores.

    `join` is what people call it; `merge` the node where both sides come together, which names what they keep of time.
    `window` is the store of this side's own records. The windows are as seen from this side. Records that wait for a
    partner are in `unmatched`, a store of both sides; `is_outer` tells whether those of this side do, `other_is_outer`
    those of the other. After `idle_ms` of silence of a key on the wall clock they are given up.
    """

    join: str
    merge: str
    window: str
    joiner: Callable[[Any, Any], Any]
    is_left: bool
    is_outer: bool
    other_is_outer: bool
    before_ms: int
    after_ms: int
    grace_ms: int
    unmatched: str | None = None
    idle_ms: int | None = None

    @property
    def internal_stores(self) -> tuple[str, ...]:
        times = (STREAM_TIMES,) if self.unmatched is not None else ()
        return (*times, *((idle_keys(self.merge),) if self.idle_ms is not None else ()))

    @property
    def takes_null_keys(self) -> bool:
        return self.is_outer


@dataclass(frozen=True, kw_only=True)
class StreamGlobalJoin(Node):
    """Each record with the row of a global table that `key_selector` names; with `left` also without one."""

    key_selector: Callable[[Any, Any], Any]
    joiner: Callable[[Any, Any], Any]
    left: bool

    @property
    def takes_null_keys(self) -> bool:
        return self.left


@dataclass(frozen=True, kw_only=True)
class TableJoin(TableNode):
    """Joins the changes of a table with the rows of another.

    `optional` says whether a result may lack the row of this table, `other_optional` that of the other.
    """

    joiner: Callable[[Any, Any], Any]
    is_left: bool
    optional: bool
    other_optional: bool


@dataclass(frozen=True, kw_only=True)
class TableJoinMerge(TableNode):
    """The table that two `TableJoin` make, of the tables `left` and `right`."""

    left: str
    right: str
    joiner: Callable[[Any, Any], Any]
    left_optional: bool
    right_optional: bool


@dataclass(frozen=True, kw_only=True)
class StreamTableJoin(Node):
    """Joins records with rows of a table; with a grace, its first store is where they wait."""

    joiner: Callable[[Any, Any], Any]
    left: bool
    versioned: bool
    grace_ms: int | None = None

    @property
    def internal_stores(self) -> tuple[str, ...]:
        return () if self.grace_ms is None else (STREAM_TIMES,)

    @property
    def takes_null_keys(self) -> bool:
        return self.left
