"""A graph as a Mermaid flowchart: topics, nodes, stores, one box per sub-topology."""

from __future__ import annotations

from html import escape

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, Sink, Source


def to_mermaid(graph: Graph) -> str:
    ids = {node.name: f"n{index}" for index, node in enumerate(graph.nodes)}
    topics = _Ids("t")
    stores = _Ids("s")
    lines = ["flowchart TD"]
    edges: list[str] = []
    for sub in graph.sub_topologies:
        kind = ": global table" if sub.is_global else ""
        lines.append(f'    subgraph sub{sub.number}["Sub-topology {sub.number}{kind}"]')
        for node in sub.nodes:
            lines.append(f'        {ids[node.name]}["{_label(node)}"]')
            edges += [f"    {ids[node.name]} --> {ids[child]}" for child in graph.children[node.name]]
            edges += [f"    {ids[node.name]} -.- {stores[store]}" for store in (*node.stores, *node.global_stores)]
            if isinstance(node, Source):
                edges += [f"    {topics[topic]} --> {ids[node.name]}" for topic in node.shown_topics]
            if isinstance(node, Sink):
                edges.append(f"    {ids[node.name]} --> {topics[node.topic]}")
        lines += [f'        {stores[store]}[("{store}")]' for store in sub.stores]
        lines.append("    end")
    lines += [f'    {identifier}(["{_quoted(name)}"])' for name, identifier in topics.items()]
    return "\n".join(lines + edges) + "\n"


def _label(node: Node) -> str:
    kind, name = type(node).__name__, escape(node.name).replace("&", "#")  # Mermaid writes entities with a hash
    return f"{name}<br/>{kind}" if kind.upper() not in node.name.upper() else name


def _quoted(name: str) -> str:
    """Escapes a name for use between quotes: a topic pattern may have any character."""
    return name.replace("#", "#35;").replace('"', "#quot;")


class _Ids(dict[str, str]):
    """Short identifiers, created on first use."""

    def __init__(self, letter: str) -> None:
        super().__init__()
        self._letter = letter

    def __missing__(self, name: str) -> str:
        self[name] = identifier = f"{self._letter}{len(self)}"
        return identifier
