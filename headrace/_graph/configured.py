"""The graph as the configuration completes it."""

from __future__ import annotations

from dataclasses import replace

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, WindowedAggregate, stream_time_table
from headrace._graph.stores import KeyValue, Session, Store, TimestampedWindow
from headrace.config import StreamsConfig
from headrace.serdes import Long


def configured(graph: Graph, config: StreamsConfig) -> Graph:
    """The same graph; where every key has a time of its own, with the stores of these times."""
    if not config.allow_stream_time_key_tracking:
        return graph
    stores = {name: _by_key(store) for name, store in graph.stores.items()}
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, WindowedAggregate):
            times = stream_time_table(node.name)
            stores[times] = KeyValue(name=times, key_serde=node.key_serde, value_serde=Long())
            nodes.append(replace(node, stores=(*node.stores, times)))
        else:
            nodes.append(node)
    return Graph(tuple(nodes), stores)


def _by_key(store: Store) -> Store:
    return replace(store, by_key=True) if isinstance(store, TimestampedWindow | Session) else store
