"""Adds source nodes. A topic or pattern has one source, which all streams and tables that read it share."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Self

from headrace._graph.graph import GraphBuilder
from headrace._graph.names import checked_name
from headrace._graph.nodes import Source
from headrace.errors import TopologyError
from headrace.model.offset_reset import AutoOffsetReset
from headrace.model.time.timestamps import Extractor
from headrace.serdes import Serde


class SourceSettings(NamedTuple):
    """How a source reads its topics; streams and tables that share the source must have equal settings."""

    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    timestamp_extractor: Extractor | None
    offset_reset: AutoOffsetReset | None

    @classmethod
    def of(cls, source: Source) -> Self:
        return cls(source.key_serde, source.value_serde, source.timestamp_extractor, source.offset_reset)


def add_source(
    graph: GraphBuilder,
    topics: tuple[str, ...],
    name: str | None,
    settings: SourceSettings,
    pattern: re.Pattern[str] | None = None,
) -> str:
    """Returns the name of the source of these topics or this pattern; adds the source if there is none yet."""
    for topic in topics:
        checked_name(topic, "topic")
    graph.refuse_matched(topics)
    node_name = graph.names.node(name, "KSTREAM-SOURCE-")
    source = graph.source_of(topics) if pattern is None else graph.source_of_pattern(pattern)
    if source is None:
        source = graph.add(Source(name=node_name, topics=topics, pattern=pattern, **settings._asdict()))
    elif SourceSettings.of(source) != settings:
        message = (
            f"{'Topic' if pattern is None else 'Pattern'} {source.shown_topics[0]!r} is already read by source "
            f"{source.name!r} with other serdes, extractor or offset reset. Read each topic once and reuse the "
            "stream."
        )
        raise TopologyError(message)
    return source.name


def source_of_store(
    graph: GraphBuilder, topic: str, name: str | None, settings: SourceSettings, operation: str, *, is_global: bool
) -> Source:
    """Returns a source, not yet added, of a topic that maintains a store, so that nothing else may read the topic.

    Its name is `<name>-source`, or generated.
    """
    refuse_read_already(graph, checked_name(topic, "topic"), operation)
    source_name = None if name is None else f"{checked_name(name, 'node')}-source"
    node_name = graph.names.node(source_name, "KSTREAM-SOURCE-")
    return Source(name=node_name, topics=(topic,), is_global=is_global, **settings._asdict())


def refuse_read_already(graph: GraphBuilder, topic: str, operation: str) -> None:
    """Raises a `TopologyError` if a stream or a table already reads the topic."""
    graph.refuse_matched([topic])
    source = graph.source_of((topic,))
    if source is not None:
        message = (
            f"{operation} was given topic {topic!r}, which source {source.name!r} reads already, and a topic "
            "can be read only once. Write its records to another topic too, and read that one here."
        )
        raise TopologyError(message)


def refuse_pattern(topic: object, operation: str) -> None:
    """Raises a `TopologyError` if a table is given a pattern instead of a topic."""
    if isinstance(topic, re.Pattern):
        message = (
            f"{operation} was given the pattern {topic.pattern!r}; as in Kafka Streams, a table reads one topic: rows "
            "of two topics with the same key would overwrite each other. If you want that, use "
            "builder.stream(pattern).to_table()."
        )
        raise TopologyError(message)
