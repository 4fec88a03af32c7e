"""Nodes that hand records and rows to a later stage of the same sub-topology."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._graph.nodes.base import Node


@dataclass(frozen=True, kw_only=True)
class TableCopy(Node):
    """Holds a copy of the rows of a table of an earlier stage."""


@dataclass(frozen=True, kw_only=True)
class HandOver(Node):
    """Puts the records of a node into the relay to a later stage; `number` identifies the node in that relay.

    If the node is cached and `every_update` is set, each update is handed over at once, for a copy of its rows.
    """

    number: int
    every_update: bool = False


@dataclass(frozen=True, kw_only=True)
class TakeOver(Node):
    """Takes the records of the node with this `number` out of the relay, in the later stage."""

    number: int
