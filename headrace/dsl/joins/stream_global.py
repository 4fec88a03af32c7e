"""Joins of a stream with a global table: without a repartition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace._graph.nodes import StreamGlobalJoin
from headrace.dsl.joins.options import Join
from headrace.model.arguments import checked_callable

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream
    from headrace.dsl.tables.global_table import GlobalKTable


def join_stream_global(stream: KStream[Any, Any], table: GlobalKTable[Any, Any], join: Join) -> KStream[Any, Any]:
    """Adds the node that looks up the row of each record; keys and partitions stay."""
    sides = "a stream and a global table"
    join.allow(sides, "key_selector", "name")
    selector: Callable[[Any, Any], Any] = join.get("key_selector") or _own_key
    checked_callable(selector, join.operation, "key_selector(key, value)")
    node = stream._add(
        StreamGlobalJoin,
        "KSTREAM-LEFTJOIN-",  # Kafka Streams uses this name for inner joins, too
        join.get("name"),
        global_stores=(table._store,),
        key_selector=selector,
        joiner=join.with_both_keys(sides),
        left=join.left,
    )
    return stream._derive_same_key(node, join.result_serde(stream._value_serde))


def _own_key(key: Any, _: Any) -> Any:
    return key
