"""`Topology`: the processor graph that the test driver, Spark and the command line run and describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from headrace._graph.checks import checked_factory, checked_partitioner
from headrace._graph.describing.describe import describe, function_name
from headrace._graph.describing.mermaid import to_mermaid
from headrace._graph.graph import Graph, GraphBuilder
from headrace._graph.names import checked_name
from headrace._graph.nodes import DynamicSink, Node, Process, Sink, Source
from headrace._graph.stores import StoreSpec
from headrace.errors import TopologyError
from headrace.model.processor import ProcessorFactory
from headrace.model.routing import StreamPartitioner, TopicNameExtractor
from headrace.model.timestamps import Extractor
from headrace.serdes import Serde


class Topology:
    """A processor graph, ready to run: from `StreamsBuilder.build()`, or built node by node. Each `add_*` returns it.

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

        >>> import headrace as hr
        >>> class Shout(hr.Processor):
        ...     def process(self, record):
        ...         self.context.forward(record.with_value(record.value.upper()), to=hr.To.child("loud"))
        >>> topology = hr.Topology().add_source("words", "in").add_processor("shout", Shout, parents=["words"])
        >>> topology.add_sink("loud", "out", parents=["shout"])
        <Topology in -> out>
    """

    def __init__(self, graph: Graph | None = None) -> None:
        self._builder = GraphBuilder() if graph is None else GraphBuilder.of(graph)
        self._finished = graph

    @property
    def _graph(self) -> Graph:
        if self._finished is None:
            self._finished = self._builder.build()
        return self._finished

    def add_source(
        self,
        name: str,
        *topics: str | Iterable[str],
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
    ) -> Self:
        """Adds a node that reads topics.

        Args:
            name: name of the node.
            topics: one topic or several, also as a list; only one source can read a topic.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms`; a negative timestamp drops the record.
        """
        listed = tuple(topic for some in topics for topic in _as_names(some))
        if not listed:
            message = f"Source {name!r} was given no topic; it needs at least one."
            raise TopologyError(message)
        self._refuse_read_twice(name, listed)
        return self._add(
            Source(
                name=checked_name(name, "node"),
                topics=listed,
                key_serde=key_serde,
                value_serde=value_serde,
                timestamp_extractor=timestamp_extractor,
            )
        )

    def add_processor(self, name: str, factory: ProcessorFactory, parents: str | Iterable[str]) -> Self:
        """Adds a processor of your own after its parents.

        Args:
            name: name of the node; `To.child(name)` forwards to it.
            factory: creates a new processor for every task: a `Processor` class, or a function without arguments.
            parents: names of sources and processors.
        """
        checked_factory(factory, f"add_processor({name!r})")
        return self._add(
            Process(name=checked_name(name, "node"), parents=self._parents(name, parents), factory=factory)
        )

    def add_sink(
        self,
        name: str,
        topic: str | TopicNameExtractor[Any, Any],
        parents: str | Iterable[str],
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        partitioner: StreamPartitioner[Any, Any] | None = None,
    ) -> Self:
        """Adds a node that writes records to a topic, as `KStream.to()` does.

        Args:
            name: name of the node; `To.child(name)` forwards to it.
            topic: the topic, or a function `(key, value, context) -> topic`; topics that do not exist are created, or
                refused with `StreamsConfig(dynamic_topics="refuse")` if a function returned them.
            parents: names of sources and processors.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            partitioner: `(topic, key, value, partitions) -> partition`, as for `KStream.to()`.
        """
        checked_partitioner(partitioner, f"add_sink({name!r})")
        common: dict[str, Any] = {
            "name": checked_name(name, "node"),
            "parents": self._parents(name, parents),
            "key_serde": key_serde,
            "value_serde": value_serde,
            "partitioner": partitioner,
        }
        if callable(topic):
            return self._add(DynamicSink(topic_of=topic, **common))
        return self._add(Sink(topic=checked_name(topic, "topic"), **common))

    def add_state_store(self, store: StoreSpec, processors: str | Iterable[str] = ()) -> Self:
        """Adds a store, and lets these processors use it; they then run in the same task.

        Args:
            store: its spec, as `Stores` returns it.
            processors: names of the processors that use it.
        """
        if not isinstance(store, StoreSpec):
            message = f"add_state_store() was given {store!r}; it takes a store spec, e.g. Stores.key_value(...)."
            raise TopologyError(message)
        users = _as_names(processors)
        for processor in users:
            self._check_processor(processor)
        self._builder.add_store(store)
        for processor in users:
            self.connect_processor_and_state_stores(processor, store.name)
        self._finished = None
        return self

    def connect_processor_and_state_stores(self, processor: str, *stores: str) -> Self:
        """Lets a processor use stores that were added before."""
        self._check_processor(processor)
        self._builder.connect(processor, [self._builder.shared_store(store, processor) for store in stores])
        self._finished = None
        return self

    def describe(self) -> str:
        """Returns the topology as text, in Kafka Streams' format."""
        return describe(self._graph)

    def to_mermaid(self) -> str:
        """Returns the topology as a Mermaid flowchart."""
        return to_mermaid(self._graph)

    def _add(self, node: Node) -> Self:
        self._builder.add(node)
        self._finished = None
        return self

    def _parents(self, name: str, parent_names: str | Iterable[str]) -> tuple[str, ...]:
        parents = _as_names(parent_names)
        if not parents:
            message = f"Node {name!r} was given no parents; records reach it only through at least one."
            raise TopologyError(message)
        tables = [node.name for table in self._builder.build().global_tables.values() for node in table.nodes]
        for parent in parents:
            if isinstance(self._builder.node(parent), Sink):
                message = f"Node {name!r} names the sink {parent!r} as parent; records end at a sink."
                raise TopologyError(message)
            if parent in tables:
                message = (
                    f"Node {name!r} names {parent!r} of a global table as parent; its records end in the table. Let a "
                    "processor of a stream read it: connect_processor_and_state_stores(processor, store)."
                )
                raise TopologyError(message)
        return parents

    def _check_processor(self, name: str) -> None:
        if isinstance(self._builder.node(name), Source | Sink):
            message = f"{name!r} is a source or sink; only processors use stores."
            raise TopologyError(message)

    def _refuse_read_twice(self, name: str, topics: tuple[str, ...]) -> None:
        reading = {topic: source.name for source in self._builder.sources() for topic in source.topics}
        for number, topic in enumerate(topics):
            checked_name(topic, "topic")
            if topic in reading or topic in topics[:number]:
                by = f"source {reading[topic]!r}" if topic in reading else "this very source"
                message = f"Source {name!r} names topic {topic!r}, which is already read by {by}. Read each topic once."
                raise TopologyError(message)

    def __repr__(self) -> str:
        graph = self._graph
        chosen = [f"{function_name(sink.topic_of)}()" for sink in graph.dynamic_sinks]
        sources, sinks = ", ".join(graph.source_topics), ", ".join([*graph.sink_topics, *chosen])
        return f"<Topology {sources or 'nothing'} -> {sinks or 'nothing'}>"


def _as_names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
