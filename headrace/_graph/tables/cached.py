"""Decides which tables use the record cache: those that Kafka Streams caches."""

from __future__ import annotations

from dataclasses import replace

from headrace._graph.graph import Graph
from headrace._graph.nodes import (
    Node,
    StreamAggregate,
    StreamCount,
    StreamReduce,
    TableAggregate,
    TableCount,
    TableFilter,
    TableJoinMerge,
    TableMapValues,
    TableReduce,
    TableSource,
    WindowedAggregate,
)
from headrace.model.stores.specs import SessionSpec, TimestampedKeyValueSpec, TimestampedWindowSpec

_Cacheable = (
    StreamCount
    | StreamAggregate
    | StreamReduce
    | WindowedAggregate
    | TableSource
    | TableFilter
    | TableMapValues
    | TableCount
    | TableAggregate
    | TableReduce
    | TableJoinMerge
)
_CachedStore = TimestampedKeyValueSpec | TimestampedWindowSpec | SessionSpec


def with_cached_tables(graph: Graph) -> Graph:
    """The graph in which all tables that have a store of their own are cached, unless its spec has `cached=False`.

    Versioned and global tables are not cached, nor are windows that are emitted when they close.
    """
    return replace(graph, nodes=tuple(_cached(node, graph) for node in graph.nodes))


def _cached(node: Node, graph: Graph) -> Node:
    if not isinstance(node, _Cacheable) or not node.stores or node.stores[0] in graph.global_tables:
        return node
    if isinstance(node, WindowedAggregate) and node.emit_on_close:
        return node
    store = graph.stores[node.stores[0]]
    return replace(node, cached=True) if isinstance(store, _CachedStore) and store.cached else node
