"""Joins of a stream with a table."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace._graph.nodes import StreamTableJoin
from headrace._graph.tables.rows import materialize_rows
from headrace.dsl.joins.options import Join
from headrace.dsl.joins.repartitioned import repartition_if_needed
from headrace.dsl.joins.stream_foreign_key import join_stream_by_foreign_key
from headrace.errors import TopologyError
from headrace.model.arguments import checked_duration
from headrace.model.stores.specs import RecordBufferSpec, VersionedSpec

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable


def join_stream_table(stream: KStream[Any, Any], table: KTable[Any, Any], join: Join) -> KStream[Any, Any]:
    """Adds the node that looks up rows, after a repartition if the key may have changed."""
    if "foreign_key" in join.options:
        return join_stream_by_foreign_key(stream, table, join)
    sides = "a stream with a table"
    join.allow(sides, "foreign_key", "grace", "key_serde", "value_serde", "name")
    graph, name, joiner = stream._graph, join.get("name"), join.with_key(sides)
    grace_ms = _grace_ms(stream, table, join)
    stream = repartition_if_needed(stream, name, join.get("key_serde"), join.get("value_serde"))
    stores = rows = materialize_rows(graph, table._node)
    node_name = graph.names.node(name, "KSTREAM-LEFTJOIN-" if join.left else "KSTREAM-JOIN-")
    if grace_ms is not None:
        buffer = RecordBufferSpec(
            name=f"{node_name}-Buffer", key_serde=stream._key_serde, value_serde=stream._value_serde
        )
        stores = (graph.add_store(buffer).name, *stores)
    graph.add(
        StreamTableJoin(
            name=node_name,
            parents=(stream._node,),
            stores=stores,
            reads=rows,
            tables=(table._node,),
            joiner=joiner,
            value_joiner=join.joiner if join.takes_only_values() else None,
            left=join.left,
            versioned=table._versioned,
            grace_ms=grace_ms,
        )
    )
    graph.copartition(join.operation, stream._node, table._node)
    return stream._derive_same_key(node_name, join.result_serde(stream._value_serde))


def _grace_ms(stream: KStream[Any, Any], table: KTable[Any, Any], join: Join) -> int | None:
    if "grace" not in join.options:
        return None
    sides = f"{stream!r} with {table!r}"
    grace_ms = checked_duration(join.get("grace"), f"{join.operation}() of {sides}: grace", at_least_ms=0)
    if not table._versioned:
        message = (
            f"{join.operation}() of {sides} was given grace={join.get('grace')!r}, but the table keeps only its latest "
            "rows, so it cannot tell a late row from an early one. Give the table "
            "store=Stores.versioned_key_value(...), or leave out grace=."
        )
        raise TopologyError(message)
    history = min(_histories_ms(stream, table))
    if grace_ms > history:
        message = (
            f"{join.operation}() of {sides} was given grace={join.get('grace')!r}, longer than the history of the "
            f"table, {timedelta(milliseconds=history)}: rows would be forgotten before they are joined. Give the "
            "table a longer history, or the join a shorter grace."
        )
        raise TopologyError(message)
    return grace_ms


def _histories_ms(stream: KStream[Any, Any], table: KTable[Any, Any]) -> list[int]:
    stores = [stream._graph.store(name) for name in materialize_rows(stream._graph, table._node)]
    return [store.history_ms for store in stores if isinstance(store, VersionedSpec)]
