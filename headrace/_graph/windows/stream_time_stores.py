"""Stores for the stream time of each key (KIP-540), which the setting `allow_stream_time_key_tracking` adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, StreamJoin, Suppress, WindowedAggregate, stream_time_table
from headrace.errors import ConfigError
from headrace.model.stores.specs import (
    KeyValueSpec,
    SessionSpec,
    StoreSpec,
    SuppressBufferSpec,
    TimestampedWindowSpec,
    UnmatchedSpec,
    WindowSpec,
)
from headrace.model.time.windows import TimeWindows
from headrace.serdes import Long, Serde, SessionWindowedKey, WindowedKey

_EXPIRING = WindowSpec | TimestampedWindowSpec | SessionSpec | SuppressBufferSpec | UnmatchedSpec


def with_stream_time_stores(graph: Graph, idle_ms: int | None) -> Graph:
    """The graph with stores of stream times by key, and with other stores that expire by key.

    Each windowed aggregation, `suppress` and join of streams has a store of stream times of its own. Each such node
    also gets `idle_ms`, the time after which keys without records are closed.

    Raises:
        ConfigError: if another store has the name of such a store.
    """
    stores = dict(graph.stores)
    owners: dict[str, str] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if isinstance(node, WindowedAggregate | Suppress | StreamJoin):
            stores |= {name: _by_key(stores[name], node) for name in node.stores}
            times = _time_store_name(node, graph, owners)
            key_serde = graph.stores[node.stores[0]].key_serde
            if isinstance(node, Suppress):
                key_serde = _inner(key_serde)
            stores[times] = KeyValueSpec(name=times, key_serde=key_serde, value_serde=Long())
            nodes.append(replace(node, stores=(*node.stores, times), idle_ms=idle_ms))
        else:
            nodes.append(node)
    return replace(graph, nodes=tuple(nodes), stores=stores)


def _time_store_name(node: WindowedAggregate | Suppress | StreamJoin, graph: Graph, owners: dict[str, str]) -> str:
    """The name of the store with an operator's stream times; only the two sides of a join may share one."""
    operator, owner = (node.join, node.merge) if isinstance(node, StreamJoin) else (node.name, node.name)
    times = stream_time_table(operator)
    if times in graph.stores or owners.setdefault(times, owner) != owner:
        message = (
            f"{operator!r} stores the stream times of its keys in {times!r}, but another store has that name too. "
            "Choose another name= for one of them."
        )
        raise ConfigError(message)
    return times


def _by_key(store: StoreSpec, node: WindowedAggregate | Suppress | StreamJoin) -> StoreSpec:
    if isinstance(store, TimestampedWindowSpec) and isinstance(node, WindowedAggregate):
        # An operator that shares its store with others does not know which entries they still need.
        return replace(store, by_key=True, caller_expires=isinstance(node.windows, TimeWindows) and not node.sharing)
    return replace(store, by_key=True) if isinstance(store, _EXPIRING) else store


def _inner(key_serde: Serde[Any] | None) -> Serde[Any] | None:
    """The serde of the keys that have a stream time: for windowed keys, that of the key inside."""
    return key_serde.given if isinstance(key_serde, WindowedKey | SessionWindowedKey) else key_serde
