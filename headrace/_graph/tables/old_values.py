"""Which tables tell the value that a change replaces: those before an operator that has to take it back."""

from __future__ import annotations

from dataclasses import replace

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import TableFilter, TableJoinMerge, TableMapValues, TableMerge, TableNode, TableSource


def send_old_values(graph: GraphBuilder, name: str, *, materialize: bool) -> bool:
    """Has a table forward old values with its changes, from now on.

    Returns whether it does: a table without rows of its own can only if `materialize` allows to give it a store, or the
    table before it can.
    """
    node = graph.node(name)
    assert isinstance(node, TableNode)
    if node.send_old_values:
        return True
    if isinstance(node, TableSource) and not node.stores:
        if not materialize:
            return False
        node = materialized(graph, node)
    elif isinstance(node, TableFilter | TableMapValues) and not node.stores:
        (parent,) = node.parents
        if not send_old_values(graph, parent, materialize=materialize):
            return False
    elif isinstance(node, TableJoinMerge | TableMerge):
        for parent in node.parents:
            send_old_values(graph, parent, materialize=materialize)
    graph.replace(replace(node, send_old_values=True))
    return True


def materialized(graph: GraphBuilder, node: TableSource) -> TableSource:
    """The table source with a store for its rows."""
    store = graph.add_store(node.store_when_needed)
    kept = replace(node, stores=(store.name,))
    graph.replace(kept)
    return kept
