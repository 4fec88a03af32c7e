"""Adds to the graph what the configuration requires: dead letters, the record cache, a stream time for each key."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from headrace._graph.explicit_names import refuse_generated_names
from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, Sink, Source, StreamJoin, Suppress, WindowedAggregate, stream_time_table
from headrace._graph.stores import (
    KeyValueSpec,
    SessionSpec,
    StoreSpec,
    SuppressBufferSpec,
    TimestampedWindowSpec,
    UnmatchedSpec,
    WindowSpec,
)
from headrace._graph.tables.cached import with_cached_tables
from headrace.config import StreamsConfig
from headrace.errors import ConfigError
from headrace.model.windows import TimeWindows
from headrace.serdes import Long, Serde, SessionWindowedKey, WindowedKey

_EXPIRING = WindowSpec | TimestampedWindowSpec | SessionSpec | SuppressBufferSpec | UnmatchedSpec


def configured(graph: Graph, config: StreamsConfig) -> Graph:
    """The graph with the additions that settings require: a dead letter topic, cached tables, a time for each key.

    Raises:
        TopologyError: if `ensure_explicit_internal_resource_naming` is set and the graph has generated names.
        ConfigError: if the name of a topic or store that a setting adds is already in use.
    """
    if config.ensure_explicit_internal_resource_naming:
        refuse_generated_names(graph)
    if config.dead_letter_topic is not None:
        graph = _with_dead_letters(graph, config.dead_letter_topic)
    if config.statestore_cache_max_bytes:
        graph = with_cached_tables(graph)
    idle = config.stream_time_key_idle
    idle_ms = None if idle is None else idle // timedelta(milliseconds=1)
    return _with_key_times(graph, idle_ms) if config.allow_stream_time_key_tracking else graph


def _with_dead_letters(graph: Graph, topic: str) -> Graph:
    read = {one for node in graph.nodes if isinstance(node, Source) for one in node.topics}
    written = {node.topic for node in graph.nodes if isinstance(node, Sink)}
    if topic in read | written:
        message = f"dead_letter_topic is {topic!r}, which the topology reads or writes; use a separate topic."
        raise ConfigError(message)
    return replace(graph, dead_letter_topic=topic)


def _with_key_times(graph: Graph, idle_ms: int | None) -> Graph:
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
