"""`Topology`: the processor graph that the test driver, Spark and the command line run and describe."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Self

from headrace._graph.declared_stores import own_stores
from headrace._graph.describing.describe import describe, function_name
from headrace._graph.describing.mermaid import to_mermaid
from headrace._graph.graph import Graph, GraphBuilder
from headrace._graph.names import checked_name, checked_processor_name
from headrace._graph.nodes import DynamicSink, Node, Process, Sink, Source
from headrace._graph.patterns import checked_pattern, checked_reset
from headrace._graph.topic_stores import add_store_of_topic
from headrace.dsl.sources import SourceSettings
from headrace.errors import TopologyError
from headrace.model.arguments import checked_factory, checked_partitioner
from headrace.model.offset_reset import OffsetReset
from headrace.model.processor import ProcessorFactory
from headrace.model.routing import StreamPartitioner, TopicNameExtractor
from headrace.model.stores.specs import StoreSpec
from headrace.model.time.timestamps import Extractor
from headrace.serdes import Serde


class Topology:
    """A processor graph, ready to run: from `StreamsBuilder.build()`, or built node by node with the `add_*` methods.

    Each of these methods returns the topology itself, so that calls can be chained.

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
        *topics: str | Iterable[str] | re.Pattern[str],
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
        offset_reset: OffsetReset | None = None,
    ) -> Self:
        """Adds a node that reads topics, or all topics whose names match a pattern; see `StreamsBuilder.stream`.

        Args:
            name: name of the node: any text in one line.
            topics: one or more topics, also as lists; or one pattern. Each topic can be read by one source only.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.
            timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms`, where `record` is a `ConsumerRecord`; a
                negative timestamp drops the record. Default: `default_timestamp_extractor` of `StreamsConfig`.
            offset_reset: where to begin in a topic that the application has not read before: "earliest", "latest",
                "none", or an `AutoOffsetReset`. Default: `auto_offset_reset` of `StreamsConfig`.
        """
        patterns = [some for some in topics if isinstance(some, re.Pattern)]
        listed = tuple(topic for some in topics if not isinstance(some, re.Pattern) for topic in _as_names(some))
        if not listed and not patterns:
            message = f"Source {name!r} was given no topic; it needs at least one."
            raise TopologyError(message)
        if len(patterns) > 1 or (patterns and listed):
            message = (
                f"Source {name!r} was given a pattern together with other topics or patterns; it reads topics or one "
                "pattern. Write one pattern for all, e.g. re.compile('orders|payments-.*')."
            )
            raise TopologyError(message)
        pattern = checked_pattern(patterns[0], f"Source {name!r}") if patterns else None
        if pattern is None:
            self._refuse_read_twice(name, listed)
        elif self._builder.source_of_pattern(pattern) is not None:
            message = f"Source {name!r} names the pattern {pattern.pattern!r}, which another source reads already."
            raise TopologyError(message)
        return self._add(
            Source(
                name=checked_processor_name(name),
                topics=listed,
                key_serde=key_serde,
                value_serde=value_serde,
                timestamp_extractor=timestamp_extractor,
                offset_reset=checked_reset(offset_reset, f"offset_reset of source {name!r}"),
                pattern=pattern,
            )
        )

    def add_processor(
        self,
        name: str,
        factory: ProcessorFactory,
        parents: str | Iterable[str],
        *,
        stores: Iterable[StoreSpec | str] = (),
    ) -> Self:
        """Adds a processor of your own after its parents.

        Args:
            name: name of the node; a parent can forward only to this node with `To.child(name)`.
            factory: creates a new processor for every task: a `Processor` class, or a function without arguments.
            parents: names of the sources and processors whose records it gets.
            stores: the stores that the processor may use: specs, or names of stores that were added before. Stores that
                the `stores()` method of the processor returns are connected as well.
        """
        operation = f"add_processor({name!r})"
        checked_factory(factory, operation)
        own = own_stores(factory, operation)
        self._add(Process(name=checked_processor_name(name), parents=self._parents(name, parents), factory=factory))
        self._builder.connect_own(name, stores, own)
        return self

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
            name: name of the node; a parent can forward only to this node with `To.child(name)`.
            topic: the topic, or a function `(key, value, context) -> topic` that returns the topic of each record. A
                topic that does not exist is created. If a function returned it and `dynamic_topics` of `StreamsConfig`
                is "refuse", that is a production error instead.
            parents: names of the sources and processors whose records it writes.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.
            partitioner: `(topic, key, value, partitions) -> partition`, as in `KStream.to()`.
        """
        checked_partitioner(partitioner, f"add_sink({name!r})")
        common: dict[str, Any] = {
            "name": checked_processor_name(name),
            "parents": self._parents(name, parents),
            "key_serde": key_serde,
            "value_serde": value_serde,
            "partitioner": partitioner,
        }
        if callable(topic):
            return self._add(DynamicSink(topic_of=topic, **common))
        return self._add(Sink(topic=checked_name(topic, "topic"), **common))

    def add_state_store(self, store: StoreSpec, processors: str | Iterable[str] = ()) -> Self:
        """Adds a store and connects it to processors. Processors that share a store run in the same task.

        Args:
            store: the spec of the store, as `Stores` returns it.
            processors: names of the processors that use the store; they must have been added before.
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

    def add_global_store(
        self,
        store: StoreSpec,
        source: str,
        topic: str,
        processor: str,
        factory: ProcessorFactory,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
    ) -> Self:
        """Adds a global store that a processor of your own maintains from a topic.

        See `StreamsBuilder.add_global_store`. Other processors can read the store after
        `connect_processor_and_state_stores(processor, store_name)`.

        Args:
            store: the spec of the store, of any kind, as `Stores` returns it.
            source: name of the node that reads the topic.
            topic: the topic; no other source can read it.
            processor: name of the node that maintains the store; it cannot have children.
            factory: creates a new processor for every task: a `Processor` class, or a function without arguments.
            key_serde: serde of the topic's keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the topic's values; default: the setting `default_value_serde`, else `serdes.Json()`.
            timestamp_extractor: returns the timestamp of a record; a negative timestamp drops the record. Default: the
                record's timestamp, even if `default_timestamp_extractor` is set.
        """
        settings = SourceSettings(key_serde, value_serde, timestamp_extractor, offset_reset=None)
        return self._store_of_topic("add_global_store()", store, source, topic, processor, factory, settings, True)

    def add_read_only_state_store(
        self,
        store: StoreSpec,
        source: str,
        topic: str,
        processor: str,
        factory: ProcessorFactory,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
    ) -> Self:
        """Adds a store that a processor of your own maintains from a topic and others can only read (KIP-813).

        See `StreamsBuilder.add_read_only_state_store`. The arguments are those of `add_global_store`, except that the
        default of `timestamp_extractor` is `default_timestamp_extractor` of `StreamsConfig`.
        """
        settings = SourceSettings(key_serde, value_serde, timestamp_extractor, offset_reset=None)
        operation = "add_read_only_state_store()"
        return self._store_of_topic(operation, store, source, topic, processor, factory, settings, False)

    def _store_of_topic(
        self,
        operation: str,
        store: StoreSpec,
        source: str,
        topic: str,
        processor: str,
        factory: ProcessorFactory,
        settings: SourceSettings,
        is_global: bool,
    ) -> Self:
        self._refuse_read_twice(source, (topic,))
        node = Source(name=checked_name(source, "node"), topics=(topic,), is_global=is_global, **settings._asdict())
        add_store_of_topic(self._builder, store, node, checked_name(processor, "node"), factory, operation)
        self._finished = None
        return self

    def connect_processor_and_state_stores(self, processor: str, *stores: str) -> Self:
        """Connects stores that were added before to a processor; global and read-only stores can only be read.

        Args:
            processor: name of the processor.
            stores: names of the stores.
        """
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

    def to_svg(self) -> str:
        """Returns the topology as an SVG picture with topics, operators, stores and sub-topologies; notebooks show it.

        Raises:
            TopologyError: if the topology has no nodes.
        """
        if not self._graph.nodes:
            message = "The topology has no nodes, so there is nothing to draw; begin with add_source()."
            raise TopologyError(message)
        from headrace._graph.drawing.picture import standalone_svg  # only needed to draw

        return standalone_svg(self._graph)

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
        self._builder.refuse_matched(topics)

    def __repr__(self) -> str:
        graph = self._graph
        chosen = [f"{function_name(sink.topic_of)}()" for sink in graph.dynamic_sinks]
        sources, sinks = ", ".join(graph.shown_source_topics), ", ".join([*graph.sink_topics, *chosen])
        return f"<Topology {sources or 'nothing'} -> {sinks or 'nothing'}>"

    def _repr_svg_(self) -> str | None:
        return self.to_svg() if self._graph.nodes else None


def _as_names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
