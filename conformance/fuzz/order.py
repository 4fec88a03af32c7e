"""The order in which Headrace processes what one input record sends to internal topics, for Kafka Streams to follow.

Kafka's test driver takes the record with the smallest timestamp of all internal topics, and any of them at equal
timestamps. Headrace takes stage after stage: within a stage by timestamp, then by the stage that wrote the topic, then
by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

import headrace as hr
from headrace._graph.graph import Graph
from headrace._graph.stages import stages

_GENERATED = re.compile(r"\d{10}")


def topic_order(topology: hr.Topology) -> dict[str, list[int]]:
    """`places_of` an application's internal topics, by their names without generated numbers."""
    places = places_of(topology._graph)
    return {name: list(places[topic]) for topic, name in _numbered(places).items()}


def places_of(graph: Graph) -> dict[str, tuple[int, int]]:
    """For each internal topic the stage that reads it, and its rank among the topics with equal timestamps there."""
    ordered = stages(graph)
    read = {topic: number for number, stage in enumerate(ordered) for topic in stage.source_topics}
    internal = [
        (read[sink.topic], number, sink.topic)
        for number, stage in enumerate(ordered)
        for sink in stage.sinks
        if sink.internal and not sink.relay
    ]
    return {topic: (stage, rank) for rank, (stage, _, topic) in enumerate(sorted(set(internal)))}


def _numbered(topics: Iterable[str]) -> dict[str, str]:
    """Topics by names without generated numbers: those shift if Kafka Streams follows a rule with more operators."""
    alike = groupby(sorted(topics, key=lambda topic: (_unnumbered(topic), topic)), _unnumbered)
    return {topic: f"{name}/{number}" for name, group in alike for number, topic in enumerate(group)}


def _unnumbered(topic: str) -> str:
    return _GENERATED.sub("#", topic)
