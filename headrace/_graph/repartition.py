"""A repartition: null-key filter, internal sink, internal source; what follows is another sub-topology."""

from __future__ import annotations

from typing import Any

from headrace._graph.graph import GraphBuilder
from headrace._graph.names import is_generated
from headrace._graph.nodes import NullKeyFilter, Sink, Source
from headrace.serdes import Serde


def add_repartition(
    graph: GraphBuilder,
    parent: str,
    base: str,
    *,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
    partitions: int | None = None,
) -> str:
    """Adds the three nodes after `parent` and returns the name of the source."""
    topic = f"{base}-repartition"
    generated = is_generated(base)

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
        )
    )
    graph.add(Source(name=source_name, topics=(topic,), key_serde=key_serde, value_serde=value_serde, internal=True))
    return source_name


def skip_repartition(graph: GraphBuilder) -> None:
    """Uses up the names of a repartition that is not added as there is one already; Kafka Streams does too."""
    for prefix in ("KSTREAM-SINK-", "KSTREAM-FILTER-", "KSTREAM-SOURCE-"):
        graph.names.generate(prefix)
