"""Joins of two tables by a foreign key.

Each row of the left table subscribes to the row of its foreign key, whose task sends answers back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace._core.operators.foreign_keys.messages import Answer, Packed, Subscription
from headrace._graph.names import checked_name
from headrace._graph.nodes import (
    ForeignKeyAnswer,
    ForeignKeyChange,
    ForeignKeyReceive,
    ForeignKeyResolve,
    ForeignKeySubscribe,
    Sink,
    Source,
    TableSource,
)
from headrace._graph.partitioners import KeyPartitioner
from headrace._graph.tables.materialized import table_store_spec
from headrace._graph.tables.old_values import materialize_source, send_old_values
from headrace._graph.tables.rows import materialize_rows
from headrace.dsl.joins.options import Join
from headrace.model.arguments import checked_callable
from headrace.model.stores.specs import KeyValueSpec, VersionedSpec
from headrace.serdes import Bytes

if TYPE_CHECKING:
    from headrace._graph.graph import GraphBuilder
    from headrace.dsl.ktable import KTable

_PREFIX = "KTABLE-FK-JOIN-"


def join_by_foreign_key(left: KTable[Any, Any], right: KTable[Any, Any], join: Join) -> KTable[Any, Any]:
    """Adds the nodes of both sides, two internal topics between them, and the resulting table."""
    sides = "two tables by foreign key"
    join.allow(sides, "foreign_key", "partitioner", "other_partitioner", "store", "value_serde", "name")
    checked_callable(join.get("foreign_key"), join.operation, "foreign_key(key, value)")
    to_left, to_right = join.key_partitioner("partitioner"), join.key_partitioner("other_partitioner")
    graph, joiner = left._graph, join.with_both_keys(sides)
    for table in (left, right):
        send_old_values(graph, table._node, materialize=True)
    names = _Names(graph, join.get("name"))
    serdes: dict[str, Any] = {"key_serde": left._key_serde, "value_serde": left._value_serde}
    foreign_serdes: dict[str, Any] = {"foreign_serde": right._key_serde, "foreign_value_serde": right._value_serde}

    topic = names.take(f"{_PREFIX}SUBSCRIPTION-REGISTRATION-", "subscription-registration") + "-topic"
    subscribe = ForeignKeySubscribe(
        name=names.take(f"{_PREFIX}SUBSCRIPTION-REGISTRATION-", "subscription-registration-processor"),
        parents=(left._node,),
        foreign_key=join.get("foreign_key"),
        foreign_serde=right._key_serde,
        left=join.left,
        **serdes,
    )
    graph.add(subscribe)
    wire: dict[str, Any] = {"key_serde": right._key_serde, "value_serde": Packed(Subscription)}
    registered = _through_topic(graph, names, topic, "subscription-registration", wire, (subscribe.name,), to_right)
    store_name = names.take(f"{_PREFIX}SUBSCRIPTION-STATE-STORE-", "subscription-store")
    store = graph.add_store(KeyValueSpec(name=store_name, key_serde=Bytes(), value_serde=Bytes())).name
    receive = ForeignKeyReceive(
        name=names.take(f"{_PREFIX}SUBSCRIPTION-PROCESSOR-", "subscription-receive"),
        parents=(registered,),
        stores=(store,),
        foreign_serde=right._key_serde,
    )
    graph.add(receive)
    right_rows = materialize_rows(graph, right._node)
    answer = ForeignKeyAnswer(
        name=names.take(f"{_PREFIX}SUBSCRIPTION-PROCESSOR-", "subscription-join-foreign"),
        parents=(receive.name,),
        stores=right_rows,
        reads=right_rows,
        tables=(right._node,),
        key_serde=left._key_serde,
        foreign_value_serde=right._value_serde,
    )
    graph.add(answer)
    change = ForeignKeyChange(
        name=names.take(f"{_PREFIX}SUBSCRIPTION-PROCESSOR-", "foreign-join-subscription"),
        parents=(right._node,),
        stores=(store,),
        key_serde=left._key_serde,
        **foreign_serdes,
    )
    graph.add(change)
    topic = names.take(f"{_PREFIX}SUBSCRIPTION-RESPONSE-", "subscription-response") + "-topic"
    wire = {"key_serde": left._key_serde, "value_serde": Packed(Answer)}
    answered = _through_topic(graph, names, topic, "subscription-response", wire, (answer.name, change.name), to_left)
    left_rows = materialize_rows(graph, left._node)
    resolve = ForeignKeyResolve(
        name=names.take(f"{_PREFIX}SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-", "subscription-response-resolver"),
        parents=(answered,),
        stores=left_rows,
        reads=left_rows,
        left_table=left._node,
        right_table=right._node,
        joiner=joiner,
        foreign_key=join.get("foreign_key") if join.takes_both_keys() else None,
        foreign_value_serde=right._value_serde,
        left=join.left,
        **serdes,
    )
    graph.add(resolve)
    graph.copartition(join.operation, right._node, registered)
    graph.copartition(join.operation, left._node, answered)
    return _result(left, join, names, resolve.name)


def _result(left: KTable[Any, Any], join: Join, names: _Names, resolve: str) -> KTable[Any, Any]:
    graph, store = left._graph, join.get("store")
    value_serde = join.get("value_serde") or join.result_serde(left._value_serde)
    name = names.take(f"{_PREFIX}OUTPUT-", "result")
    name_or_spec = graph.names.store(None, f"{_PREFIX}OUTPUT-") if store is None else store
    spec = table_store_spec(name_or_spec, join.operation, left._key_serde, value_serde, VersionedSpec)
    node = graph.add(TableSource(name=name, parents=(resolve,), store_when_needed=spec))
    if store is not None:
        materialize_source(graph, node)
    return left._table(name, value_serde, None if store is None else spec)


def _through_topic(
    graph: GraphBuilder,
    names: _Names,
    topic: str,
    base: str,
    serdes: dict[str, Any],
    writers: tuple[str, ...],
    partitioner: KeyPartitioner | None,
) -> str:
    """Adds an internal topic with its sink and its source; returns the name of the source."""
    sink = Sink(
        name=names.take("KTABLE-SINK-", f"{base}-sink"),
        parents=writers,
        topic=topic,
        internal=True,
        partitioner=partitioner,
        **serdes,
    )
    graph.add(sink)
    source = Source(name=names.take("KTABLE-SOURCE-", f"{base}-source"), topics=(topic,), internal=True, **serdes)
    return graph.add(source).name


class _Names:
    """The names of nodes and topics, as Kafka Streams chooses them: generated, or derived from the name of the join."""

    def __init__(self, graph: GraphBuilder, name: str | None) -> None:
        self._graph = graph
        self._name = None if name is None else checked_name(name, "node")

    def take(self, prefix: str, suffix: str) -> str:
        return self._graph.names.node(self._name and f"{self._name}-{suffix}", prefix)
