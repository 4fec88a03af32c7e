"""Joins of two tables by their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace._graph.nodes import TableJoin, TableJoinMerge
from headrace._graph.tables.old_values import send_old_values
from headrace._graph.tables.rows import materialize_rows
from headrace.dsl.joins.options import Join

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable


def join_tables(left: KTable[Any, Any], right: KTable[Any, Any], join: Join) -> KTable[Any, Any]:
    """Adds a node for the changes of each side, and the table that merges their results."""
    sides_by_key = "two tables"
    join.allow(sides_by_key, "foreign_key", "store", "value_serde", "name")
    graph, name, joiner = left._graph, join.get("name"), join.with_key(sides_by_key)
    # As in Kafka Streams, old values are only needed of a side whose unmatched rows have results.
    for table, alone in ((left, join.left), (right, join.right)):
        if alone:
            send_old_values(graph, table._node, materialize=True)
    merge = graph.names.node(name, "KTABLE-MERGE-")
    this = graph.names.node(name and f"{name}-join-this", "KTABLE-JOINTHIS-")
    other = graph.names.node(name and f"{name}-join-other", "KTABLE-JOINOTHER-")
    sides: tuple[tuple[str, Any, Any, dict[str, Any]], ...] = (
        (this, left, right, {"is_left": True, "optional": join.right, "other_optional": join.left}),
        (other, right, left, {"is_left": False, "optional": join.left, "other_optional": join.right}),
    )
    for node, changing, other_table, side in sides:
        graph.add(
            TableJoin(
                name=node,
                parents=(changing._node,),
                stores=materialize_rows(graph, other_table._node),
                reads=materialize_rows(graph, other_table._node),
                tables=(other_table._node,),
                joiner=joiner,
                **side,
            )
        )
    value_serde = join.get("value_serde") or join.result_serde(left._value_serde)
    spec = left._add_store(join.operation, join.get("store"), value_serde)
    graph.add(
        TableJoinMerge(
            name=merge,
            parents=(this, other),
            stores=() if spec is None else (spec.name,),
            left=left._node,
            right=right._node,
            joiner=joiner,
            left_optional=join.right,
            right_optional=join.left,
        )
    )
    graph.copartition(join.operation, left._node, right._node)
    return left._table(merge, value_serde, spec)
