"""What streams, tables and groups of their records have in common: the node that emits the records, and the serdes."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace._graph.graph import GraphBuilder
from headrace.serdes import Serde


class NodeOutput(NamedTuple):
    """The records that a node of the graph emits, with their serdes as far as they are known."""

    graph: GraphBuilder
    node: str
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None


class Handle:
    """The base of the fluent classes that stand for the output of a node."""

    def __init__(self, output: NodeOutput) -> None:
        self._graph, self._node, self._key_serde, self._value_serde = output

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node}>"
