"""Where an operator that looks up the rows of a table finds them: in the stores of the table, or of those before it."""

from __future__ import annotations

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import Node, Suppress, TableJoinMerge, TableSource
from headrace._graph.tables.old_values import materialized


def rows_stores(graph: GraphBuilder, table: str) -> tuple[str, ...]:
    """The stores that hold the rows of a table; one that is not kept yet will be, from now on."""
    node = graph.node(table)
    if isinstance(node, TableSource) and not node.stores:
        return materialized(graph, node).stores
    before = (store for name in worked_out_from(node) for store in rows_stores(graph, name))
    return tuple(dict.fromkeys((*node.stores[:1], *before)))


def worked_out_from(table: Node) -> tuple[str, ...]:
    """The tables whose rows those of a table are worked out from; none if it keeps all of its own."""
    if isinstance(table, Suppress):
        return table.parents
    if table.stores:
        return ()
    return (table.left, table.right) if isinstance(table, TableJoinMerge) else table.parents[:1]
