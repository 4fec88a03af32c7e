"""The graph as the configuration completes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, Suppress, WindowedAggregate, stream_time_table
from headrace._graph.stores import KeyValue, Session, Store, SuppressBuffer, TimestampedWindow
from headrace.config import StreamsConfig
from headrace.serdes import Long, Serde, SessionWindowed, Windowed


def configured(graph: Graph, config: StreamsConfig) -> Graph:
    """The same graph; where every key has a time of its own, with the stores of these times."""
    if not config.allow_stream_time_key_tracking:
        return graph
    stores = dict(graph.stores)
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, WindowedAggregate | Suppress):
            stores |= {name: _by_key(stores[name]) for name in node.stores}
            times = stream_time_table(node.name)
            key_serde = _inner(graph.stores[node.stores[0]].key_serde)
            stores[times] = KeyValue(name=times, key_serde=key_serde, value_serde=Long())
            nodes.append(replace(node, stores=(*node.stores, times)))
        else:
            nodes.append(node)
    return Graph(tuple(nodes), stores)


def _by_key(store: Store) -> Store:
    return replace(store, by_key=True) if isinstance(store, TimestampedWindow | Session | SuppressBuffer) else store


def _inner(key_serde: Serde[Any] | None) -> Serde[Any] | None:
    """The serde of the keys that have a time: of windowed keys, the key within."""
    return key_serde.given if isinstance(key_serde, Windowed | SessionWindowed) else key_serde
