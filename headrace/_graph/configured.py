"""Adds to the graph what the configuration requires: dead letters, the record cache, a stream time for each key."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headrace._graph.explicit_names import refuse_generated_names
from headrace._graph.graph import Graph
from headrace._graph.nodes import Sink, Source
from headrace._graph.tables.cached import with_cached_tables
from headrace._graph.windows.stream_time_stores import with_stream_time_stores
from headrace.config import StreamsConfig
from headrace.errors import ConfigError


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
    return with_stream_time_stores(graph, idle_ms) if config.allow_stream_time_key_tracking else graph


def _with_dead_letters(graph: Graph, topic: str) -> Graph:
    read = {one for node in graph.nodes if isinstance(node, Source) for one in node.topics}
    written = {node.topic for node in graph.nodes if isinstance(node, Sink)}
    if topic in read | written:
        message = f"dead_letter_topic is {topic!r}, which the topology reads or writes; use a separate topic."
        raise ConfigError(message)
    return replace(graph, dead_letter_topic=topic)
