"""A finished topology: what the test driver, Spark and the command line run and describe."""

from __future__ import annotations

from headrace._graph.describe import describe
from headrace._graph.graph import Graph
from headrace._graph.mermaid import to_mermaid


class Topology:
    """A processor graph, ready to run. Made by `StreamsBuilder.build()`; immutable.

    Example:
        >>> from headrace import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> builder.stream("in").filter(lambda key, value: value > 0).to("out")
        >>> print(builder.build().describe())
        Topologies:
           Sub-topology: 0
            Source: KSTREAM-SOURCE-0000000000 (topics: [in])
              --> KSTREAM-FILTER-0000000001
            Processor: KSTREAM-FILTER-0000000001 (stores: [])
              --> KSTREAM-SINK-0000000002
              <-- KSTREAM-SOURCE-0000000000
            Sink: KSTREAM-SINK-0000000002 (topic: out)
              <-- KSTREAM-FILTER-0000000001
        <BLANKLINE>
        <BLANKLINE>
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def describe(self) -> str:
        """The topology as text, in Kafka Streams' format."""
        return describe(self._graph)

    def to_mermaid(self) -> str:
        """The topology as a Mermaid flowchart."""
        return to_mermaid(self._graph)

    def __repr__(self) -> str:
        sources, sinks = ", ".join(self._graph.source_topics), ", ".join(self._graph.sink_topics)
        return f"<Topology {sources or 'nothing'} -> {sinks or 'nothing'}>"
