"""Nodes of joins by the key of a record. Joiners get the key first: `joiner(key, left, right)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace._graph.nodes.base import STREAM_TIMES, Node, RowJoin, idle_keys
from headrace._graph.nodes.tables import TableNode


@dataclass(frozen=True, kw_only=True)
class JoinWindow(Node):
    """Stores the records of one side of a stream-stream join, so that the other side can look them up."""


@dataclass(frozen=True, kw_only=True)
class StreamJoin(Node):
    """Joins the records of one side of a stream-stream join with those of the other side, which are in its first store.

    `join` is the name of the join for users. `merge` is the node where both sides meet; their common stream time is
    stored under its name. `window` is the store of this side's own records. A record of this side joins those
    of the other side from `before_ms` before it to `after_ms` after it. `unmatched` is the store for the unmatched
    records of both sides: those of this side if `is_outer`, those of the other side if `other_is_outer`. After
    `idle_ms` of wall-clock time without a record of their key, unmatched records are emitted.
    """

    join: str
    merge: str
    window: str
    joiner: Callable[[Any, Any, Any], Any]
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
        return self.is_outer or self.other_is_outer


@dataclass(frozen=True, kw_only=True)
class StreamGlobalJoin(RowJoin):
    """Joins each record with the row of a global table that `key_selector` selects.

    The joiner gets both keys: `joiner(key, selected key, value, row)`.
    """

    key_selector: Callable[[Any, Any], Any]
    joiner: Callable[[Any, Any, Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class TableJoin(TableNode):
    """Joins the changes of a table with the rows of another.

    If `optional`, there is a result even without a row of this table; if `other_optional`, even without one of the
    other table.
    """

    joiner: Callable[[Any, Any, Any], Any]
    is_left: bool
    optional: bool
    other_optional: bool


@dataclass(frozen=True, kw_only=True)
class TableJoinMerge(TableNode):
    """The result table of the two `TableJoin` nodes of the tables `left` and `right`."""

    left: str
    right: str
    joiner: Callable[[Any, Any, Any], Any]
    left_optional: bool
    right_optional: bool


@dataclass(frozen=True, kw_only=True)
class StreamTableJoin(RowJoin):
    """Joins records with rows of a table; with a grace period, its first store buffers the records.

    `value_joiner` is the user's joiner, if it takes only the values. If the table is `versioned`, a record is joined
    with the row that was valid at its timestamp.
    """

    joiner: Callable[[Any, Any, Any], Any]
    value_joiner: Callable[[Any, Any], Any] | None
    versioned: bool
    grace_ms: int | None = None

    @property
    def internal_stores(self) -> tuple[str, ...]:
        return () if self.grace_ms is None else (STREAM_TIMES,)
