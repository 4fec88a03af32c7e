"""A graph as text, as Kafka Streams' `describe()` prints it."""

from __future__ import annotations

from functools import cache

from headrace._graph.graph import Graph, SubTopology
from headrace._graph.nodes import DynamicSink, Node, Sink, Source


def describe(graph: Graph) -> str:
    blocks = [_block(graph, sub) for sub in graph.sub_topologies]
    return "Topologies:\n " + "".join(blocks)


def _block(graph: Graph, sub: SubTopology) -> str:
    @cache
    def size(name: str) -> int:
        return 1 + sum(size(child) for child in graph.children[name])

    def rank(name: str) -> tuple[int, str]:
        return (-size(name), name)

    lines = [f"  Sub-topology: {sub.number}{' for global store (will not generate tasks)' if sub.is_global else ''}"]
    for node in sorted(sub.nodes, key=lambda node: rank(node.name)):
        lines.append(f"    {_title(node)}")
        if not isinstance(node, Sink | DynamicSink):
            lines.append(f"      --> {_listed(sorted(graph.children[node.name], key=rank))}")
        if not isinstance(node, Source):
            lines.append(f"      <-- {_listed(list(node.parents))}")
    return "\n".join(lines) + ("\n" if sub.is_global else "\n\n")


def _title(node: Node) -> str:
    if isinstance(node, Source):
        topics = f"[{', '.join(node.topics)}]" if node.pattern is None else node.pattern.pattern
        return f"Source: {node.name} (topics: {topics})"
    if isinstance(node, Sink):
        return f"Sink: {node.name} (topic: {node.topic})"
    if isinstance(node, DynamicSink):
        return f"Sink: {node.name} (extractor class: {function_name(node.topic_of)})"
    return f"Processor: {node.name} (stores: [{', '.join(node.stores)}])"


def function_name(function: object) -> str:
    """The name with which a user's function was defined; of any other object, the name of its class."""
    return getattr(function, "__qualname__", type(function).__qualname__)


def _listed(names: list[str]) -> str:
    return ", ".join(names) if names else "none"
