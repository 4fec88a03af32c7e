"""Nodes of joins by a key that is found in the record: a question goes to where the row is, an answer comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace._graph.nodes.base import Node
from headrace.serdes import Serde


@dataclass(frozen=True, kw_only=True)
class ForeignKeySubscribe(Node):
    """Sends the rows of a table to the side of their foreign key."""

    foreign_key: Callable[[Any, Any], Any]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    foreign_serde: Serde[Any] | None
    left: bool


@dataclass(frozen=True, kw_only=True)
class ForeignKeyReceive(Node):
    """Keeps which rows refer to which foreign key."""

    foreign_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class ForeignKeyAnswer(Node):
    """Answers rows with the foreign row they refer to."""

    key_serde: Serde[Any] | None
    foreign_value_serde: Serde[Any] | None
    left: bool


@dataclass(frozen=True, kw_only=True)
class ForeignKeyChange(Node):
    """Answers all rows that refer to a foreign row that changes.

    `with_itself` if both are rows of the same table, `with_part` if the foreign ones are some of its rows.
    """

    key_serde: Serde[Any] | None
    foreign_serde: Serde[Any] | None
    foreign_value_serde: Serde[Any] | None
    left: bool
    with_itself: bool
    with_part: bool


@dataclass(frozen=True, kw_only=True)
class ForeignKeyResolve(Node):
    """Makes results of answers."""

    joiner: Callable[[Any, Any], Any]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    foreign_value_serde: Serde[Any] | None


@dataclass(frozen=True, kw_only=True)
class StreamForeignKeySelect(Node):
    """Sends records to the row of their foreign key."""

    foreign_key: Callable[[Any, Any], Any]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    left: bool

    @property
    def takes_null_keys(self) -> bool:
        return self.left


@dataclass(frozen=True, kw_only=True)
class StreamForeignKeyJoin(Node):
    """Joins records with the row of their foreign key."""

    joiner: Callable[[Any, Any], Any]
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    left: bool
    versioned: bool
