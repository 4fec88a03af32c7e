"""Joins of a stream with a table by a foreign key: records are sent to the task of the row they refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace._core.operators.foreign_keys.messages import KeyedRecord, Packed
from headrace._graph.nodes import Sink, Source, StreamForeignKeyJoin, StreamForeignKeySelect
from headrace._graph.tables.rows import materialize_rows
from headrace.dsl.joins.options import Join
from headrace.model.arguments import checked_callable

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream
    from headrace.dsl.ktable import KTable


def join_stream_by_foreign_key(stream: KStream[Any, Any], table: KTable[Any, Any], join: Join) -> KStream[Any, Any]:
    """Adds a repartition by the foreign key, and the join, which runs in the tasks of the table's rows.

    The results are in these tasks, so they are not partitioned by their own key.
    """
    sides = "a stream with a table by foreign key"
    join.allow(sides, "foreign_key", "other_partitioner", "key_serde", "value_serde", "name")
    checked_callable(join.get("foreign_key"), join.operation, "foreign_key(key, value)")
    to_rows = join.key_partitioner("other_partitioner")
    graph, name, joiner = stream._graph, join.get("name"), join.with_both_keys(sides)
    serdes: dict[str, Any] = {
        "key_serde": join.get("key_serde") or stream._key_serde,
        "value_serde": join.get("value_serde") or stream._value_serde,
    }
    select = StreamForeignKeySelect(
        name=graph.names.node(name and f"{name}-select", "KSTREAM-FK-SELECT-"),
        parents=(stream._node,),
        foreign_key=join.get("foreign_key"),
        left=join.left,
        **serdes,
    )
    graph.add(select)
    topic = f"{name or select.name}-repartition"
    wire: dict[str, Any] = {"key_serde": table._key_serde, "value_serde": Packed(KeyedRecord)}
    sink_name = graph.names.node(name and f"{topic}-sink", "KSTREAM-SINK-")
    graph.add(Sink(name=sink_name, parents=(select.name,), topic=topic, internal=True, partitioner=to_rows, **wire))
    source_name = graph.names.node(name and f"{topic}-source", "KSTREAM-SOURCE-")
    graph.add(Source(name=source_name, topics=(topic,), internal=True, **wire))
    rows = materialize_rows(graph, table._node)
    joined = StreamForeignKeyJoin(
        name=graph.names.node(name, "KSTREAM-FK-LEFTJOIN-" if join.left else "KSTREAM-FK-JOIN-"),
        parents=(source_name,),
        stores=rows,
        reads=rows,
        tables=(table._node,),
        joiner=joiner,
        left=join.left,
        versioned=table._versioned,
        **serdes,
    )
    graph.add(joined)
    graph.copartition(join.operation, table._node, source_name)
    results = join.result_serde(serdes["value_serde"])
    return stream._derive(joined.name, serdes["key_serde"], results, repartition_required=True)
