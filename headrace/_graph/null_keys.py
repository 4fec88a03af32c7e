"""Lets records without a key through a repartition if a left or outer join comes after it, as in Kafka Streams."""

from __future__ import annotations

from collections.abc import Mapping

from headrace._graph.nodes import Node, NullKeyFilter, PassThrough, Sink, Source


def with_null_keys(nodes: Mapping[str, Node]) -> tuple[Node, ...]:
    """Returns the nodes in their order, with repartitions that let records without a key through where a join needs it.

    The null-key filters of repartitions before a left or outer join are replaced with nodes that pass all records on.
    """
    wanted = _before_null_key_joins(nodes)
    return tuple(
        PassThrough(name=node.name, parents=node.parents)
        if isinstance(node, NullKeyFilter) and name in wanted
        else node
        for name, node in nodes.items()
    )


def _before_null_key_joins(nodes: Mapping[str, Node]) -> set[str]:
    """The names of the left and outer joins, and of all nodes before them, across repartitions."""
    writers: dict[str, list[str]] = {}
    for node in nodes.values():
        if isinstance(node, Sink) and node.internal:
            writers.setdefault(node.topic, []).append(node.name)
    names: set[str] = set()
    pending = [node.name for node in nodes.values() if node.takes_null_keys]
    while pending:
        name = pending.pop()
        if name not in names:
            names.add(name)
            node = nodes[name]
            pending += node.parents
            if isinstance(node, Source) and node.internal:
                pending += (writer for topic in node.topics for writer in writers[topic])
    return names
