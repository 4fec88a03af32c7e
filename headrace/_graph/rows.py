"""Where an operator that looks up the rows of a table finds them: in the stores of the table, or of those before it."""

from __future__ import annotations

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import Suppress, TableFilter, TableJoinMerge, TableMapValues, TableMerge, TableSource
from headrace._graph.old_values import materialized


def rows_stores(graph: GraphBuilder, table: str) -> tuple[str, ...]:
    """The stores that hold the rows of a table; one that is not kept yet will be, from now on."""
    node = graph.node(table)
    if isinstance(node, Suppress):
        return (*node.stores, *rows_stores(graph, node.parents[0]))
    if node.stores:
        return node.stores[:1]
    if isinstance(node, TableSource):
        return materialized(graph, node).stores
    if isinstance(node, TableFilter | TableMapValues | TableMerge):
        return rows_stores(graph, node.parents[0])
    assert isinstance(node, TableJoinMerge)
    return tuple(dict.fromkeys(store for side in (node.left, node.right) for store in rows_stores(graph, side)))
