"""Records without a key pass a repartition where a join downstream has a result for them, as in Kafka Streams."""

from __future__ import annotations

from collections.abc import Mapping

from headrace._graph.nodes import Node, NullKeyFilter, PassThrough, Sink, Source


def with_null_keys(nodes: Mapping[str, Node]) -> tuple[Node, ...]:
    """The nodes in their order; filters before a repartition that must let null keys through do so."""
    wanted = _wanting(nodes)
    return tuple(
        PassThrough(name=node.name, parents=node.parents)
        if isinstance(node, NullKeyFilter) and name in wanted
        else node
        for name, node in nodes.items()
    )


def _wanting(nodes: Mapping[str, Node]) -> set[str]:
    """The nodes from which a join is reached that takes records without a key."""
    writers: dict[str, list[str]] = {}
    for node in nodes.values():
        if isinstance(node, Sink) and node.internal:
            writers.setdefault(node.topic, []).append(node.name)
    found: set[str] = set()
    waiting = [node.name for node in nodes.values() if node.takes_null_keys]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            node = nodes[name]
            waiting += node.parents
            if isinstance(node, Source) and node.internal:
                waiting += (writer for topic in node.topics for writer in writers[topic])
    return found
