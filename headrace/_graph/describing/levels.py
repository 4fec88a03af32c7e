"""How many repartitions lie before each node of a sub-topology that its own output comes back to.

Nodes that share a store are on one level: they wait for the last of them. Those that only look up a store wait for it,
and have it wait for them if they can; where a store feeds the repartition behind which it is looked up, they cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, Sink, Source
from headrace.errors import TopologyError


def levels(graph: Graph) -> dict[str, int]:
    """The level of every node, counted from 0."""
    apart = {(node.name, store) for node in graph.nodes for store in node.reads if _is_fed_by(graph, node.name, store)}
    found = _settled(graph, apart)
    if found is None:
        found = _settled(graph, {(node.name, store) for node in graph.nodes for store in node.reads})
    if found is None:
        message = (
            "A store is used both before and after a repartition that it feeds itself; such a topology cannot run in "
            "one pass. Write to a topic with to() and read it back with stream() instead."
        )
        raise TopologyError(message)
    return _with_late_sources(graph, found)


def writers(graph: Graph) -> dict[str, list[str]]:
    """The sinks that write each internal topic."""
    found: dict[str, list[str]] = {}
    for node in graph.nodes:
        if isinstance(node, Sink) and node.internal:
            found.setdefault(node.topic, []).append(node.name)
    return found


def _is_fed_by(graph: Graph, reader: str, store: str) -> bool:
    """Whether records reach a node from those that write a store by way of a repartition."""
    owners = {node.name for node in graph.nodes if store in node.stores and store not in node.reads}
    written = writers(graph)
    behind: set[str] = set()
    waiting = [(reader, False)]
    seen: set[tuple[str, bool]] = set()
    while waiting:
        name, repartitioned = waiting.pop()
        if (name, repartitioned) in seen:
            continue
        seen.add((name, repartitioned))
        if repartitioned:
            behind.add(name)
        node = graph.by_name[name]
        waiting += [(parent, repartitioned) for parent in node.parents]
        if isinstance(node, Source) and node.internal:
            waiting += [(sink, True) for topic in node.topics for sink in written[topic]]
    return bool(owners & behind)


def _settled(graph: Graph, apart: set[tuple[str, str]]) -> dict[str, int] | None:
    """Levels that keep all bounds, `None` if there are none; `apart` are lookups that need not share a level."""
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


def _with_late_sources(graph: Graph, found: dict[str, int]) -> dict[str, int]:
    """A topic read only by later nodes is read there, without a relay."""
    placed = dict(found)
    for node in graph.nodes:
        if isinstance(node, Source):
            readers = (found[child] for child in graph.children[node.name])
            placed[node.name] = min(readers, default=found[node.name])
    return placed
