"""`StreamsBuilder`: where a topology begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from headrace._graph.graph import GraphBuilder
from headrace._graph.names import checked_name
from headrace._graph.nodes import Source
from headrace._graph.stores import Store
from headrace.errors import TopologyError
from headrace.kstream import KStream
from headrace.serdes import Serde
from headrace.timestamps import Extractor
from headrace.topology import Topology


class StreamsBuilder:
    """Builds a topology from streams and tables.

    Example:
        >>> builder = StreamsBuilder()
        >>> builder.stream("words").group_by_key().count(store="counts").to_stream().to("totals")
        >>> builder.build()
        <Topology words -> totals>
    """

    def __init__(self) -> None:
        self._graph = GraphBuilder()

    def stream(
        self,
        topics: str | Sequence[str],
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
        name: str | None = None,
    ) -> KStream[Any, Any]:
        """A stream of the records of one topic, or of several.

        Each record keeps its timestamp, unless `timestamp_extractor` gives another. Null keys and values pass.
        Records of one partition keep their order; across topics the record with the smallest timestamp goes first.

        Args:
            topics: a topic name, or several.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms`; a negative answer drops the record.
            name: name of the source node.
        """
        listed = (topics,) if isinstance(topics, str) else tuple(topics)
        if not listed:
            message = "stream() needs at least one topic; none was given."
            raise TopologyError(message)
        if len(set(listed)) < len(listed):
            message = f"stream() was given a topic twice: {list(listed)}."
            raise TopologyError(message)
        for topic in listed:
            checked_name(topic, "topic")
        node_name = self._graph.names.node(name, "KSTREAM-SOURCE-")
        source = self._graph.source_of(listed)
        if source is None:
            source = self._graph.add(
                Source(
                    name=node_name,
                    topics=listed,
                    key_serde=key_serde,
                    value_serde=value_serde,
                    timestamp_extractor=timestamp_extractor,
                )
            )
        elif (source.key_serde, source.value_serde, source.timestamp_extractor) != (
            key_serde,
            value_serde,
            timestamp_extractor,
        ):
            message = (
                f"Topic {listed[0]!r} is already read by source {source.name!r} with other serdes or extractor. "
                "Read each topic once and reuse the stream."
            )
            raise TopologyError(message)
        return KStream(self._graph, source.name, key_serde, value_serde, repartition_required=False)

    def add_state_store(self, store: Store) -> Self:
        """Adds a store that processors then use by its name: `stream.process(factory, stores=["name"])`."""
        self._graph.add_store(store)
        return self

    def build(self) -> Topology:
        """The finished topology.

        Raises:
            TopologyError: when nothing reads a topic.
        """
        graph = self._graph.build()
        if not graph.source_topics:
            message = "The topology reads no topic. Start with builder.stream(...)."
            raise TopologyError(message)
        return Topology(graph)
