"""Nodes of foreign-key joins: a record is sent to the task of its foreign key, and an answer comes back.

Joiners get both keys: `joiner(key, foreign key, left, right)`. `left` says whether the join is a left join.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace._graph.nodes.base import Node, RowJoin
from headrace.serdes import Serde


@dataclass(frozen=True, kw_only=True)
class ForeignKeyNode(Node):
    """The base of nodes that write or read keys and values of the left side in bytes; `None` is the default serde."""

    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class ForeignKeySubscribe(ForeignKeyNode):
    """Sends the rows of a table to the tasks of their foreign keys."""

    foreign_key: Callable[[Any, Any], Any]
    foreign_serde: Serde[Any] | None
    left: bool


@dataclass(frozen=True, kw_only=True)
class ForeignKeyReceive(Node):
    """Stores subscriptions: which rows of the left table refer to which foreign key."""

    foreign_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class ForeignKeyAnswer(Node):
    """Answers a subscription of a left row with the foreign row that it refers to."""

    key_serde: Serde[Any] | None
    foreign_value_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class ForeignKeyChange(Node):
    """Sends a foreign row that has changed, as answers, to all left rows that refer to it."""

    key_serde: Serde[Any] | None
    foreign_serde: Serde[Any] | None
    foreign_value_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class ForeignKeyResolve(ForeignKeyNode):
    """Computes the results of a join of the tables `left_table` and `right_table` from the answers.

    If `foreign_key` is a function, the joiner gets the foreign key of the left row; otherwise it gets `None` for it.
    """

    foreign_key: Callable[[Any, Any], Any] | None
    left_table: str
    right_table: str
    joiner: Callable[[Any, Any, Any, Any], Any]
    foreign_value_serde: Serde[Any] | None
    left: bool


@dataclass(frozen=True, kw_only=True)
class ForeignKeyLeftRows(ForeignKeyNode):
    """Tells the node `resolve`, in the same stage, which rows of the left table an input record changes."""

    resolve: str


@dataclass(frozen=True, kw_only=True)
class StreamForeignKeySelect(ForeignKeyNode, RowJoin):
    """Sends records to the tasks of their foreign keys."""

    foreign_key: Callable[[Any, Any], Any]


@dataclass(frozen=True, kw_only=True)
class StreamForeignKeyJoin(ForeignKeyNode):
    """Joins records with the row of their foreign key; if the table is `versioned`, as of their timestamp."""

    joiner: Callable[[Any, Any, Any, Any], Any]
    left: bool
    versioned: bool
