"""Adds a windowed aggregation, with a sink for its late records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import Sink, WindowedAggregate
from headrace.serdes import Serde


def add_windowed_aggregate(
    graph: GraphBuilder,
    aggregate: WindowedAggregate,
    late_to: str | None,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
) -> None:
    """Adds the node; if `late_to` is a topic, also a sink that writes the late records there."""
    if late_to is None:
        graph.add(aggregate)
        return
    late_sink = f"{aggregate.name}-late-sink"
    graph.add(replace(aggregate, late_sink=late_sink))
    graph.add(
        Sink(name=late_sink, parents=(aggregate.name,), topic=late_to, key_serde=key_serde, value_serde=value_serde)
    )
