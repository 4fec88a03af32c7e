"""Adds a repartition: a null-key filter, an internal sink, an internal source that begins another sub-topology."""

from __future__ import annotations

import re
from typing import Any

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import NullKeyFilter, Sink, Source
from headrace.model.routing import StreamPartitioner
from headrace.serdes import Serde

# Names that Kafka Streams regards as generated here. The name of a cogroup's store is not: it names the nodes, too.
_GENERATED = re.compile(r"KSTREAM.*-\d{10}")


def add_repartition(
    graph: GraphBuilder,
    parent: str,
    base: str,
    *,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
    partitions: int | None = None,
    partitioner: StreamPartitioner[Any, Any] | None = None,
) -> str:
    """Adds the three nodes after `parent`, for the topic `{base}-repartition`, and returns the name of the source."""
    topic = f"{base}-repartition"
    generated = _GENERATED.fullmatch(base) is not None

    def name(prefix: str, suffix: str) -> str:
        return graph.names.node(None if generated else f"{topic}-{suffix}", prefix)

    sink_name, filter_name, source_name = (
        name("KSTREAM-SINK-", "sink"),
        name("KSTREAM-FILTER-", "filter"),
        name("KSTREAM-SOURCE-", "source"),
    )
    graph.add(NullKeyFilter(name=filter_name, parents=(parent,)))
    graph.add(
        Sink(
            name=sink_name,
            parents=(filter_name,),
            topic=topic,
            key_serde=key_serde,
            value_serde=value_serde,
            internal=True,
            partitions=partitions,
            partitioner=partitioner,
        )
    )
    graph.add(Source(name=source_name, topics=(topic,), key_serde=key_serde, value_serde=value_serde, internal=True))
    return source_name


def pass_over_repartition(graph: GraphBuilder) -> None:
    """Skips the names of a repartition that is not added because it exists already, as Kafka Streams does."""
    graph.names.skip(3)
