"""Nodes that carry records and rows over the edges of sub-topologies."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._graph.nodes.base import Node


@dataclass(frozen=True, kw_only=True)
class TableCopy(Node):
    """Keeps the rows of a table once more, for a later stage."""


@dataclass(frozen=True, kw_only=True)
class HandOver(Node):
    """Where the records of a node go into a relay to a later stage, which it shares with others."""

    number: int


@dataclass(frozen=True, kw_only=True)
class TakeOver(Node):
    """Where they come out of it."""

    number: int
