"""Finds the stores in which an operator looks up the rows of a table.

If the table has no store with all its rows, these are the stores of the tables that its rows are computed from.
"""

from __future__ import annotations

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import Node, Suppress, TableJoinMerge, TableSource, TableTransformValues
from headrace._graph.tables.old_values import materialize_source, materialize_transformed


def materialize_rows(graph: GraphBuilder, table: str) -> tuple[str, ...]:
    """Returns the names of the stores in which the rows of a table can be looked up, the table's own store first.

    A table source or a `transform_values` table that has no store gets one. Other tables without a store of all their
    rows are looked up in the stores of the tables that they are computed from.
    """
    node = graph.node(table)
    if isinstance(node, TableSource) and not node.stores:
        return materialize_source(graph, node).stores
    if isinstance(node, TableTransformValues):
        return materialize_transformed(graph, node).stores[:1]
    before = (store for name in computed_from(node) for store in materialize_rows(graph, name))
    return tuple(dict.fromkeys((*node.stores[:1], *before)))


def computed_from(table: Node) -> tuple[str, ...]:
    """The tables from which the rows of a table are computed; none if it has a store with all its rows."""
    if isinstance(table, Suppress):
        return table.parents
    if table.stores:
        return ()
    return (table.left, table.right) if isinstance(table, TableJoinMerge) else table.parents[:1]
