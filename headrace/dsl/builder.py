"""`StreamsBuilder`: builds a topology from streams and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from headrace._graph.graph import GraphBuilder
from headrace._graph.names import checked_name
from headrace._graph.nodes import Source, TableSource
from headrace._graph.stores import StoreSpec, TableStore, TimestampedKeyValueSpec, VersionedSpec
from headrace._graph.tables.materialized import table_store_spec
from headrace._graph.tables.old_values import materialize_source
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.topology import Topology
from headrace.errors import TopologyError
from headrace.model.timestamps import Extractor
from headrace.model.type_variables import TypeVar
from headrace.serdes import Serde

# Without serdes, keys are texts and values are JSON: the defaults of `StreamsConfig`.
K = TypeVar("K", default=str)
V = TypeVar("V", default=Any)


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
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        timestamp_extractor: Extractor | None = None,
        name: str | None = None,
    ) -> KStream[K, V]:
        """Reads one topic, or several, as a stream.

        The serdes decide the types of the stream: `stream("sales", value_serde=serdes.Json(Sale))` is a
        `KStream[str, Sale]`. Each record keeps its timestamp, unless `timestamp_extractor` returns another. Null keys
        and values pass. Records of one partition keep their order; between topics, the smallest timestamp goes first.

        Args:
            topics: name of a topic, or a list of names.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms`; a negative timestamp drops the record.
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
        """
        listed = (topics,) if isinstance(topics, str) else tuple(topics)
        if not listed:
            message = "stream() needs at least one topic; none was given."
            raise TopologyError(message)
        if len(set(listed)) < len(listed):
            message = f"stream() was given a topic twice: {list(listed)}."
            raise TopologyError(message)
        source = self._source(listed, name, key_serde, value_serde, timestamp_extractor)
        return KStream(self._graph, source, key_serde, value_serde, repartition_required=False)

    def table(
        self,
        topic: str,
        *,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        timestamp_extractor: Extractor | None = None,
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
        prefix = f"{checked_name(topic, 'topic')}-"
        rows = table_store_spec(
            self._graph.names.store(None, prefix) if store is None else store,
            "table",
            key_serde,
            value_serde,
            VersionedSpec,
        )
        source_name = None if name is None else f"{checked_name(name, 'node')}-source"
        source = self._source((topic,), source_name, key_serde, value_serde, timestamp_extractor)
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
        prefix = f"{checked_name(topic, 'topic')}-"
        rows = table_store_spec(
            self._graph.names.store(None, prefix) if store is None else store, "global_table", key_serde, value_serde
        )
        self._refuse_read_already(topic)
        source_name = None if name is None else f"{checked_name(name, 'node')}-source"
        source = self._graph.add(
            Source(
                name=self._graph.names.node(source_name, "KSTREAM-SOURCE-"),
                topics=(topic,),
                key_serde=key_serde,
                value_serde=value_serde,
                timestamp_extractor=timestamp_extractor,
                is_global=True,
            )
        )
        node = TableSource(
            name=self._graph.names.node(name, "KTABLE-SOURCE-"), parents=(source.name,), store_when_needed=rows
        )
        self._graph.add(node)
        materialize_source(self._graph, node)
        return GlobalKTable(self._graph, rows.name, queryable=store is not None)

    def _refuse_read_already(self, topic: str) -> None:
        """Raises if a stream or a table reads the topic: their tasks read one partition, a global table reads all."""
        source = self._graph.source_of((topic,))
        if source is not None:
            message = (
                f"global_table() was given topic {topic!r}, which source {source.name!r} reads already, and a topic "
                "can be read only once. Write its records to another topic too, and read that one as the global table."
            )
            raise TopologyError(message)

    def _source(
        self,
        topics: tuple[str, ...],
        name: str | None,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        timestamp_extractor: Extractor | None,
    ) -> str:
        """Returns the node that reads these topics; streams and tables of the same topics share it."""
        for topic in topics:
            checked_name(topic, "topic")
        node_name = self._graph.names.node(name, "KSTREAM-SOURCE-")
        source = self._graph.source_of(topics)
        if source is None:
            source = self._graph.add(
                Source(
                    name=node_name,
                    topics=topics,
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
                f"Topic {topics[0]!r} is already read by source {source.name!r} with other serdes or extractor. "
                "Read each topic once and reuse the stream."
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
        if not graph.source_topics:
            message = "The topology reads no topic. Start with builder.stream(...)."
            raise TopologyError(message)
        return Topology(graph)
