"""Feedback loops in the test driver: a topology that writes to a topic it reads must stop writing at some point."""

from __future__ import annotations

from typing import Final

from headrace._graph.graph import Graph
from headrace._graph.nodes import Sink
from headrace.errors import StreamsError

MAX_DESCENDANTS: Final = 100_000
"""How many records that the topology reads again may descend from one record that a test pipes into it."""


class Descendants:
    """Counts the records that descend from one piped record and that the topology reads again."""

    def __init__(self, graph: Graph, piped_into: str) -> None:
        self._graph = graph
        self._piped_into = piped_into
        self._count = 0

    def add(self, topics: list[str]) -> None:
        """Counts one more record for each of these topics, to which the topology has written it.

        Raises:
            StreamsError: if there are so many that the topology probably never stops writing them.
        """
        self._count += len(topics)
        if self._count > MAX_DESCENDANTS:
            topic = topics[-1]
            message = (
                f"One record piped into {self._piped_into!r} led to more than {MAX_DESCENDANTS:,} records that the "
                f"topology reads again: {self._sinks_of(topic)} writes to topic {topic!r}, which the topology also "
                "reads. Let the loop end, e.g. with a filter before the sink, or write to another topic."
            )
            raise StreamsError(message)

    def _sinks_of(self, topic: str) -> str:
        sinks = [node.name for node in self._graph.nodes if isinstance(node, Sink) and node.topic == topic]
        names = sinks or [node.name for node in self._graph.dynamic_sinks]
        return " or ".join(f"sink {name!r}" for name in names)
