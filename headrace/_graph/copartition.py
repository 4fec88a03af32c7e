"""Which topics must be dealt alike: those whose records meet in a store, by their keys."""

from __future__ import annotations

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, Process, Source


def copartitioned(graph: Graph) -> list[tuple[str, ...]]:
    """Groups of topics, the user's and internal ones, of which the same key must reach the same task.

    Processors of the user's share stores as they like: which keys they put there is for them to say.
    """
    users: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if not isinstance(node, Process):
            for store in node.stores:
                users.setdefault(store, []).append(node)
    groups: list[dict[str, None]] = []
    for sharing in users.values():
        if len(sharing) > 1:
            topics = dict.fromkeys(topic for node in sharing for topic in _topics_of(graph, node))
            for group in [group for group in groups if group.keys() & topics.keys()]:
                groups.remove(group)
                topics = group | topics
            groups.append(topics)
    return [tuple(group) for group in groups if len(group) > 1]


def _topics_of(graph: Graph, node: Node) -> list[str]:
    """Topics whose records come to a node within its task."""
    found: list[str] = []
    waiting, seen = [node.name], {node.name}
    while waiting:
        current = graph.by_name[waiting.pop()]
        if isinstance(current, Source):
            found += current.topics
        waiting += [parent for parent in current.parents if parent not in seen]
        seen.update(current.parents)
    return found
