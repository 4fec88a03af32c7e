"""Makes tables forward old values with their changes, if an operator after them needs these, e.g. to subtract them."""

from __future__ import annotations

from dataclasses import replace

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import (
    CogroupMerge,
    TableFilter,
    TableJoin,
    TableJoinMerge,
    TableMapValues,
    TableNode,
    TableSource,
    TableTransformValues,
)


def send_old_values(graph: GraphBuilder, name: str, *, materialize: bool) -> bool:
    """Makes a table forward old values with its changes, if it can; returns whether it does.

    A source without a store can if `materialize` allows adding one; a derived table without a store can if the table
    before it can.
    """
    node = graph.node(name)
    assert isinstance(node, TableNode)
    if node.send_old_values:
        return True
    if isinstance(node, TableSource) and not node.stores:
        if not materialize:
            return False
        node = materialize_source(graph, node)
    elif isinstance(node, TableFilter | TableMapValues) and not node.stores:
        (parent,) = node.parents
        if not send_old_values(graph, parent, materialize=materialize):
            return False
    elif isinstance(node, TableTransformValues) and node.rows is None:
        if not send_old_values(graph, node.parents[0], materialize=materialize):
            return False
    elif isinstance(node, TableJoin):
        send_old_values(graph, node.parents[0], materialize=True)
    elif isinstance(node, TableJoinMerge | CogroupMerge):
        for parent in node.parents:
            send_old_values(graph, parent, materialize=materialize)
    graph.replace(replace(node, send_old_values=True))
    return True


def materialize_source(graph: GraphBuilder, node: TableSource) -> TableSource:
    """Adds the store for the rows of a table source; returns the new node."""
    store = graph.add_store(node.store_when_needed)
    materialized = replace(node, stores=(store.name,))
    graph.replace(materialized)
    return materialized


def materialize_transformed(graph: GraphBuilder, node: TableTransformValues) -> TableTransformValues:
    """Adds the store for the rows of a transformed table, if it has none; returns the new node."""
    if node.rows is not None:
        return node
    store = graph.add_store(node.store_when_needed)
    materialized = replace(node, stores=(store.name, *node.stores), rows=store.name)
    graph.replace(materialized)
    return materialized
