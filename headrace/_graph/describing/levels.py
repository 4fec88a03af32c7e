"""Computes the level of each node: how many repartitions are before it, in a sub-topology that feeds itself.

Nodes that share a store are on the same level, the highest that any of them needs. This includes a node that only looks
up the store, unless the store feeds the repartition before this node: then the node is on a higher level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, Sink, Source
from headrace.errors import TopologyError


def levels(graph: Graph) -> dict[str, int]:
    """Returns the level of every node, by the name of the node; levels are counted from 0.

    Raises:
        TopologyError: if a store is used both before and after a repartition that it feeds, and not only for lookups.
    """
    apart = {(node.name, store) for node in graph.nodes for store in node.reads if _is_fed_by(graph, node.name, store)}
    level = _solve(graph, apart)
    if level is None:
        level = _solve(graph, {(node.name, store) for node in graph.nodes for store in node.reads})
    if level is None:
        message = (
            "A store is used both before and after a repartition that it feeds itself; such a topology cannot run in "
            "one pass. Write to a topic with to() and read it back with stream() instead."
        )
        raise TopologyError(message)
    return _move_sources(graph, level)


def writers(graph: Graph) -> dict[str, list[str]]:
    """The sinks that write each internal topic."""
    sinks: dict[str, list[str]] = {}
    for node in graph.nodes:
        if isinstance(node, Sink) and node.internal:
            sinks.setdefault(node.topic, []).append(node.name)
    return sinks


def _is_fed_by(graph: Graph, reader: str, store: str) -> bool:
    """Whether a node receives records, through a repartition, from a node that writes the store."""
    owners = {node.name for node in graph.nodes if store in node.stores and store not in node.reads}
    written = writers(graph)
    before_repartition: set[str] = set()
    pending = [(reader, False)]
    seen: set[tuple[str, bool]] = set()
    while pending:
        name, repartitioned = pending.pop()
        if (name, repartitioned) in seen:
            continue
        seen.add((name, repartitioned))
        if repartitioned:
            before_repartition.add(name)
        node = graph.by_name[name]
        pending += [(parent, repartitioned) for parent in node.parents]
        if isinstance(node, Source) and node.internal:
            pending += [(sink, True) for topic in node.topics for sink in written[topic]]
    return bool(owners & before_repartition)


def _solve(graph: Graph, apart: set[tuple[str, str]]) -> dict[str, int] | None:
    """The lowest levels that satisfy all bounds; `None` if no levels do.

    `apart` has pairs of node and store: lookups that may be on a higher level than the store.
    """
    written = writers(graph)
    sharing: dict[str, list[str]] = {}
    owning: dict[str, list[str]] = {}
    for node in graph.nodes:
        for store in node.stores:
            if (node.name, store) not in apart:
                sharing.setdefault(store, []).append(node.name)
            if store not in node.reads:
                owning.setdefault(store, []).append(node.name)
    found = dict.fromkeys(graph.by_name, 0)
    for _ in range(len(graph.nodes) + 1):
        before = dict(found)
        for node in graph.nodes:
            wait_for = [
                name
                for store in node.stores
                for name in (owning if (node.name, store) in apart else sharing).get(store, ())
            ]
            found[node.name] = max(found[node.name], *_lower_bounds(node, found, written, wait_for), 0)
        if found == before:
            return found
    return None


def _lower_bounds(
    node: Node, found: Mapping[str, int], written: Mapping[str, list[str]], wait_for: Iterable[str]
) -> Iterable[int]:
    yield from (found[name] for name in (*node.parents, *node.tables, *wait_for))
    if isinstance(node, Source) and node.internal:
        yield from (found[sink] + 1 for topic in node.topics for sink in written[topic])


def _move_sources(graph: Graph, level: dict[str, int]) -> dict[str, int]:
    """Moves each source to the lowest level of its children, so that no relay is needed between them."""
    moved = dict(level)
    for node in graph.nodes:
        if isinstance(node, Source):
            children = (level[child] for child in graph.children[node.name])
            moved[node.name] = min(children, default=level[node.name])
    return moved
