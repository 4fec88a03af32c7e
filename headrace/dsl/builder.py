"""`StreamsBuilder`: builds a topology from streams and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from headrace._graph.graph import GraphBuilder
from headrace._graph.names import checked_name
from headrace._graph.nodes import Source, TableSource
from headrace._graph.patterns import checked_pattern, checked_reset
from headrace._graph.stores import StoreSpec, TableStore, TimestampedKeyValueSpec, VersionedSpec
from headrace._graph.tables.materialized import table_store_spec
from headrace._graph.tables.old_values import materialize_source
from headrace._graph.topic_stores import add_store_of_topic
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.topology import Topology
from headrace.errors import TopologyError
from headrace.model.offset_reset import AutoOffsetReset, OffsetReset
from headrace.model.processor import ProcessorFactory
from headrace.model.timestamps import Extractor
from headrace.model.type_variables import TypeVar
from headrace.serdes import Serde

# Without serdes, keys are texts and values are JSON: the defaults of `StreamsConfig`.
K = TypeVar("K", default=str)
V = TypeVar("V", default=Any)


class _SourceSettings(NamedTuple):
    """How a source reads its topics; sources of the same topics must agree on it."""

    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    timestamp_extractor: Extractor | None
    offset_reset: AutoOffsetReset | None

    @classmethod
    def of(cls, source: Source) -> _SourceSettings:
        return cls(source.key_serde, source.value_serde, source.timestamp_extractor, source.offset_reset)


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
        topics: str | Sequence[str] | re.Pattern[str],
        *,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        timestamp_extractor: Extractor | None = None,
        offset_reset: OffsetReset | None = None,
        name: str | None = None,
    ) -> KStream[K, V]:
        """Reads one topic, or several, or all topics whose names match a pattern, as a stream.

        The serdes decide the types of the stream: `stream("sales", value_serde=serdes.Json(Sale))` is a
        `KStream[str, Sale]`. Each record keeps its timestamp, unless `timestamp_extractor` returns another. Null keys
        and values pass. Records of one partition keep their order; between topics, the smallest timestamp goes first.

        A pattern must match the whole name of a topic. Topics that appear while the application runs are read from
        their beginning. Topics that the application itself writes never match.

        Args:
            topics: name of a topic, a list of names, or a pattern: `re.compile("orders-.*")`.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms`; a negative timestamp drops the record.
            offset_reset: where to begin in a topic that the application has not read before: "earliest", "latest",
                "none", or an `AutoOffsetReset`. Default: the configured one.
            name: name of the source node.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> paid = builder.stream("payments", timestamp_extractor=lambda record, _: record.value["paid_ms"])
            >>> paid.map_values(lambda payment: payment["amount"]).to("amounts")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("payments").pipe("ann", {"paid_ms": 7, "amount": 30}, timestamp_ms=10)
            ...     driver.output_topic("amounts").read_all()
            [Record(key='ann', value=30, timestamp_ms=7)]

            >>> import re
            >>> builder = hr.StreamsBuilder()
            >>> builder.stream(re.compile("orders-.*")).to("orders")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("orders-eu").pipe("ann", 30, timestamp_ms=10)
            ...     driver.input_topic("orders-us").pipe("bob", 20, timestamp_ms=11)
            ...     driver.output_topic("orders").read_all()
            [Record(key='ann', value=30, timestamp_ms=10), Record(key='bob', value=20, timestamp_ms=11)]
        """
        pattern: re.Pattern[str] | None = None
        listed: tuple[str, ...] = ()
        if isinstance(topics, re.Pattern):
            pattern = checked_pattern(topics, "stream()")
        else:
            listed = (topics,) if isinstance(topics, str) else tuple(topics)
            if not listed:
                message = "stream() needs at least one topic; none was given."
                raise TopologyError(message)
            if len(set(listed)) < len(listed):
                message = f"stream() was given a topic twice: {list(listed)}."
                raise TopologyError(message)
        settings = _SourceSettings(
            key_serde, value_serde, timestamp_extractor, checked_reset(offset_reset, "offset_reset of stream()")
        )
        source = self._source(listed, name, settings, pattern)
        return KStream(self._graph, source, key_serde, value_serde, repartition_required=False)

    def table(
        self,
        topic: str,
        *,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        timestamp_extractor: Extractor | None = None,
        offset_reset: OffsetReset | None = None,
        store: TableStore | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Reads a topic as a table of the newest record of every key; a record with the value `None` deletes the row.

        Records replace rows in the order of the topic, whatever their timestamps; a change has its record's timestamp.
        Records without a key are dropped and counted.

        Args:
            topic: the topic.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms`; a negative timestamp drops the record.
            offset_reset: where to begin if the application has not read the topic before: "earliest", "latest", "none",
                or an `AutoOffsetReset`. Default: the configured one. A table lacks the rows before that point.
            store: name of the store of the rows, to query it; or its spec: with `Stores.versioned_key_value(...)` the
                table keeps earlier versions of its rows, and a late record does not replace a newer row.
            name: name of the table node.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> builder.table("users", store="users").to_stream().to("changes")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("users").pipe("ann", "Bern", timestamp_ms=10)
            ...     driver.input_topic("users").pipe("ann", "Basel", timestamp_ms=5)
            ...     driver.store("users").get("ann"), driver.output_topic("changes").read_all()[-1]
            ('Basel', Record(key='ann', value='Basel', timestamp_ms=5))
        """
        _refuse_pattern(topic, "table()")
        prefix = f"{checked_name(topic, 'topic')}-"
        reset = checked_reset(offset_reset, "offset_reset of table()")
        rows = table_store_spec(
            self._graph.names.store(None, prefix) if store is None else store,
            "table",
            key_serde,
            value_serde,
            VersionedSpec,
        )
        source_name = None if name is None else f"{checked_name(name, 'node')}-source"
        settings = _SourceSettings(key_serde, value_serde, timestamp_extractor, reset)
        source = self._source((topic,), source_name, settings)
        node = TableSource(
            name=self._graph.names.node(name, "KTABLE-SOURCE-"), parents=(source,), store_when_needed=rows
        )
        self._graph.add(node)
        if store is not None:
            materialize_source(self._graph, node)
        return KTable(
            self._graph,
            node.name,
            key_serde,
            value_serde,
            versioned=isinstance(rows, VersionedSpec),
            queryable_store_name=None if store is None else rows.name,
        )

    def global_table(
        self,
        topic: str,
        *,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        timestamp_extractor: Extractor | None = None,
        offset_reset: OffsetReset | None = None,
        store: str | TimestampedKeyValueSpec | None = None,
        name: str | None = None,
    ) -> GlobalKTable[K, V]:
        """Reads a topic as a table of the newest record of every key, with all rows in every task.

        Streams join it by any key, whatever the partitions of the topic. Its timestamps do not matter: a record is
        joined with the rows that exist when it is processed. An application reads the topic to its end before its first
        record, and in every micro-batch applies new rows before the records. A record with the value `None` deletes the
        row. Records without a key are dropped and counted. The topic cannot also be read as a stream or a table.

        Args:
            topic: the topic.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: returns the timestamp of a row; a negative timestamp drops the record. Default: the
                record's timestamp. As in Kafka Streams, the configured extractor is not used.
            offset_reset: where to begin if the application has not read the topic before. Default: "earliest", whatever
                is configured, because a global table should have all rows.
            store: name of the store of the rows, to query it; or its spec: `Stores.timestamped_key_value(...)`.
            name: name of the table node.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> rates = builder.global_table("rates")
            >>> prices = builder.stream("prices")
            >>> prices.join(rates, lambda price, rate: price * rate).to("converted")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("rates").pipe("EUR", 2, timestamp_ms=50)
            ...     driver.input_topic("prices").pipe("EUR", 30, timestamp_ms=7)
            ...     driver.output_topic("converted").read_all()
            [Record(key='EUR', value=60, timestamp_ms=7)]
        """
        _refuse_pattern(topic, "global_table()")
        prefix = f"{checked_name(topic, 'topic')}-"
        reset = checked_reset(offset_reset, "offset_reset of global_table()")
        rows = table_store_spec(
            self._graph.names.store(None, prefix) if store is None else store, "global_table", key_serde, value_serde
        )
        self._refuse_read_already(topic, "global_table()")
        source_name = None if name is None else f"{checked_name(name, 'node')}-source"
        source = self._graph.add(
            Source(
                name=self._graph.names.node(source_name, "KSTREAM-SOURCE-"),
                topics=(topic,),
                key_serde=key_serde,
                value_serde=value_serde,
                timestamp_extractor=timestamp_extractor,
                offset_reset=reset,
                is_global=True,
            )
        )
        node = TableSource(
            name=self._graph.names.node(name, "KTABLE-SOURCE-"), parents=(source.name,), store_when_needed=rows
        )
        self._graph.add(node)
        materialize_source(self._graph, node)
        return GlobalKTable(self._graph, rows.name, queryable=store is not None)

    def add_global_store(
        self,
        store: StoreSpec,
        topic: str,
        factory: ProcessorFactory,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
        name: str | None = None,
    ) -> Self:
        """Adds a global store that a processor of your own maintains from a topic.

        Every task that reads the store has all of it, and a processor of its own that maintains it: it gets every
        record of the topic, with its timestamp and headers, null keys included, before the other records of a
        micro-batch, and is the only one that may write the store. Processors of streams read it: name it in their
        `stores=`. All copies must stay equal, so what the processor writes may depend only on the records and the
        store; it cannot forward records, schedule punctuations, or use the stream time. If you just need the newest
        value of each key, use `global_table`.

        Args:
            store: its spec, as `Stores` returns it; of any kind.
            topic: the topic; nothing else can read it.
            factory: creates a new processor for every task: a `Processor` class, or a function without arguments.
            key_serde: serde of the topic's keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the topic's values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: returns the timestamp of a record; a negative timestamp drops the record.
            name: name of the processor node.

        Example:
            >>> import headrace as hr
            >>> from headrace import serdes
            >>> from headrace.testing import TopologyTestDriver
            >>> rates = hr.Stores.key_value("rates", value_serde=serdes.Double())
            >>> class Maintain(hr.Processor):
            ...     def process(self, record):
            ...         for currency, rate in record.value.items():
            ...             self.context.state_store(rates).put(currency, rate)
            >>> class Convert(hr.Processor):
            ...     def process(self, record):
            ...         rate = self.context.state_store(rates).get(record.key)
            ...         self.context.forward(record.with_value(record.value * rate))
            >>> builder = hr.StreamsBuilder()
            >>> builder.add_global_store(rates, "daily-rates", Maintain).stream("prices").process(
            ...     Convert, stores=[rates]
            ... ).to("converted")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("daily-rates").pipe("monday", {"EUR": 0.5, "USD": 2.0}, timestamp_ms=1)
            ...     driver.input_topic("prices").pipe("EUR", 30, timestamp_ms=7)
            ...     driver.output_topic("converted").read_all()
            [Record(key='EUR', value=15.0, timestamp_ms=7)]
        """
        serdes = (key_serde, value_serde, timestamp_extractor)
        self._store_of_topic("add_global_store()", store, topic, factory, name, serdes, is_global=True)
        return self

    def add_read_only_state_store(
        self,
        store: StoreSpec,
        topic: str,
        factory: ProcessorFactory,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
        name: str | None = None,
    ) -> Self:
        """Adds a store that a processor of your own maintains from a topic, and that others can only read (KIP-813).

        The store is partitioned like the topic: a task has what its processor made of its partition. Processors that
        name the store in their `stores=` run in the same task, so they find the keys of their own partition if both
        topics have equally many partitions. The processor gets the records in the one order of its task, by timestamp.

        Args:
            store: its spec, as `Stores` returns it; of any kind.
            topic: the topic; no stream can read it, too.
            factory: creates a new processor for every task: a `Processor` class, or a function without arguments.
            key_serde: serde of the topic's keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the topic's values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: returns the timestamp of a record; a negative timestamp drops the record.
            name: name of the processor node.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> limits = hr.Stores.key_value("limits")
            >>> class Maintain(hr.Processor):
            ...     def process(self, record):
            ...         self.context.state_store(limits).put(record.key, record.value)
            >>> class Check(hr.Processor):
            ...     def process(self, record):
            ...         if record.value > self.context.state_store(limits).get(record.key):
            ...             self.context.forward(record)
            >>> builder = hr.StreamsBuilder()
            >>> builder.add_read_only_state_store(limits, "limits", Maintain)
            <...StreamsBuilder object at ...>
            >>> builder.stream("orders").process(Check, stores=[limits]).to("too-much")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("limits").pipe("ann", 100, timestamp_ms=1)
            ...     driver.input_topic("orders").pipe("ann", 120, timestamp_ms=7)
            ...     driver.output_topic("too-much").read_all()
            [Record(key='ann', value=120, timestamp_ms=7)]
        """
        serdes = (key_serde, value_serde, timestamp_extractor)
        self._store_of_topic("add_read_only_state_store()", store, topic, factory, name, serdes, is_global=False)
        return self

    def _store_of_topic(
        self,
        operation: str,
        store: StoreSpec,
        topic: str,
        factory: ProcessorFactory,
        name: str | None,
        reading: tuple[Serde[Any] | None, Serde[Any] | None, Extractor | None],
        *,
        is_global: bool,
    ) -> None:
        """Adds a store that a processor maintains from a topic, with Kafka Streams' names for its nodes."""
        self._refuse_read_already(checked_name(topic, "topic"), operation)
        key_serde, value_serde, timestamp_extractor = reading
        source_name = None if name is None else f"{checked_name(name, 'node')}-source"
        source = Source(
            name=self._graph.names.node(source_name, "KSTREAM-SOURCE-"),
            topics=(topic,),
            key_serde=key_serde,
            value_serde=value_serde,
            timestamp_extractor=timestamp_extractor,
            is_global=is_global,
        )
        processor = self._graph.names.node(name, "KTABLE-SOURCE-")
        add_store_of_topic(self._graph, store, source, processor, factory, operation)

    def _refuse_read_already(self, topic: str, operation: str) -> None:
        """Raises if a stream or a table reads the topic."""
        self._graph.refuse_matched([topic])
        source = self._graph.source_of((topic,))
        if source is not None:
            message = (
                f"{operation} was given topic {topic!r}, which source {source.name!r} reads already, and a topic "
                "can be read only once. Write its records to another topic too, and read that one here."
            )
            raise TopologyError(message)

    def _source(
        self,
        topics: tuple[str, ...],
        name: str | None,
        settings: _SourceSettings,
        pattern: re.Pattern[str] | None = None,
    ) -> str:
        """Returns the node that reads these topics or this pattern; streams and tables of the same topics share it."""
        for topic in topics:
            checked_name(topic, "topic")
        self._graph.refuse_matched(topics)
        node_name = self._graph.names.node(name, "KSTREAM-SOURCE-")
        source = self._graph.source_of(topics) if pattern is None else self._graph.source_of_pattern(pattern)
        if source is None:
            source = self._graph.add(Source(name=node_name, topics=topics, pattern=pattern, **settings._asdict()))
        elif _SourceSettings.of(source) != settings:
            message = (
                f"{'Topic' if pattern is None else 'Pattern'} {source.shown_topics[0]!r} is already read by source "
                f"{source.name!r} with other serdes, extractor or offset reset. Read each topic once and reuse the "
                "stream."
            )
            raise TopologyError(message)
        return source.name

    def add_state_store(self, store: StoreSpec) -> Self:
        """Adds a store that processors can use by its name: `stream.process(factory, stores=["name"])`.

        Args:
            store: its spec, as `Stores` returns it.
        """
        self._graph.add_store(store)
        return self

    def build(self) -> Topology:
        """Returns the finished topology.

        Raises:
            TopologyError: when nothing reads a topic.
        """
        graph = self._graph.build()
        if not graph.shown_source_topics:
            message = "The topology reads no topic. Start with builder.stream(...)."
            raise TopologyError(message)
        return Topology(graph)


def _refuse_pattern(topic: object, operation: str) -> None:
    if isinstance(topic, re.Pattern):
        message = (
            f"{operation} was given the pattern {topic.pattern!r}; as in Kafka Streams, a table reads one topic: rows "
            "of two topics with the same key would overwrite each other. If you want that, use "
            "builder.stream(pattern).to_table()."
        )
        raise TopologyError(message)
