"""`StreamsBuilder`: builds a topology from streams and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from headrace._graph.names import checked_name
from headrace._graph.nodes import TableSource
from headrace._graph.patterns import checked_pattern, checked_reset
from headrace._graph.tables.materialized import table_store_spec
from headrace._graph.tables.old_values import materialize_source
from headrace.dsl.handle import NodeOutput
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.processor_stores import ProcessorStores
from headrace.dsl.sources import SourceSettings, add_source, refuse_pattern, source_of_store
from headrace.dsl.tables.global_table import GlobalKTable
from headrace.dsl.topology import Topology
from headrace.errors import TopologyError
from headrace.model.offset_reset import OffsetReset
from headrace.model.stores.specs import TableStore, TimestampedKeyValueSpec, VersionedSpec
from headrace.model.time.timestamps import Extractor
from headrace.model.type_variables import TypeVar
from headrace.serdes import Serde

# Without serdes, keys are text and values are JSON: the defaults of `StreamsConfig`.
K = TypeVar("K", default=str)
V = TypeVar("V", default=Any)


class StreamsBuilder(ProcessorStores):
    """Builds a topology from streams and tables.

    Example:
        >>> builder = StreamsBuilder()
        >>> builder.stream("words").group_by_key().count(store="counts").to_stream().to("totals")
        >>> builder.build()
        <Topology words -> totals>
    """

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
        `KStream[str, Sale]`. Each record keeps its timestamp, unless an extractor returns another. Records with a null
        key or value are read, too. Records of one partition keep their order; among partitions and topics, the record
        with the smallest timestamp is processed first.

        A pattern must match the whole name of a topic. Topics that appear while the application runs are read from
        their beginning. Topics that the application itself writes never match.

        Args:
            topics: the name of a topic, a list of names, or a pattern: `re.compile("orders-.*")`.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.
            timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms`, where `record` is a `ConsumerRecord`; a
                negative timestamp drops the record. Default: `default_timestamp_extractor` of `StreamsConfig`.
            offset_reset: where to begin in a topic that the application has not read before: "earliest", "latest",
                "none", or an `AutoOffsetReset`. Default: `auto_offset_reset` of `StreamsConfig`.
            name: name of the source node.

        Raises:
            TopologyError: if the topic is already read with other serdes, extractor or offset reset. Several streams
                and a table may share a topic that they read in the same way.

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
        settings = SourceSettings(
            key_serde, value_serde, timestamp_extractor, checked_reset(offset_reset, "offset_reset of stream()")
        )
        source = add_source(self._graph, listed, name, settings, pattern)
        return KStream(NodeOutput(self._graph, source, key_serde, value_serde), repartition_required=False)

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
        """Reads a topic as a table: the row of a key is its last record; a record with the value `None` deletes it.

        Each record replaces the row of its key, even if its timestamp is older. The change has the timestamp of the
        record. Records without a key are dropped and counted.

        Args:
            topic: the topic.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.
            timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms`, where `record` is a `ConsumerRecord`; a
                negative timestamp drops the record. Default: `default_timestamp_extractor` of `StreamsConfig`.
            offset_reset: where to begin if the application has not read the topic before: "earliest", "latest", "none",
                or an `AutoOffsetReset`. Default: `auto_offset_reset` of `StreamsConfig`. Rows from before that point
                are missing in the table.
            store: name of the store of the rows, to query it; or a store spec. With `Stores.versioned_key_value(...)`
                the table also keeps earlier versions of its rows, and a late record does not replace a newer row.
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
        refuse_pattern(topic, "table()")
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
        settings = SourceSettings(key_serde, value_serde, timestamp_extractor, reset)
        source = add_source(self._graph, (topic,), source_name, settings)
        node = TableSource(
            name=self._graph.names.node(name, "KTABLE-SOURCE-"), parents=(source,), store_when_needed=rows
        )
        self._graph.add(node)
        if store is not None:
            materialize_source(self._graph, node)
        output = NodeOutput(self._graph, node.name, key_serde, value_serde)
        return KTable._of_rows(output, rows, queryable=store is not None)

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
        """Reads a topic as a global table: every task has all rows, one for the last record of each key.

        A stream can join the table by any key, however the topic is partitioned. The timestamps of rows do not matter:
        a record is joined with the rows that exist when it is processed. An application reads the topic to its end
        before it processes any records of streams. Later, each micro-batch first applies new rows, then processes
        records. A record with the value `None` deletes the row. Records without a key are dropped and counted.

        Args:
            topic: the topic. It cannot also be read as a stream or as a table.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.
            timestamp_extractor: returns the timestamp of a row; a negative timestamp drops the record. Default: the
                record's timestamp. As in Kafka Streams, `default_timestamp_extractor` is not used.
            offset_reset: where to begin if the application has not read the topic before. Default: "earliest", even if
                `auto_offset_reset` is not, because a global table should have all rows.
            store: name of the store of the rows, to query it; or a store spec: `Stores.timestamped_key_value(...)`.
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
        refuse_pattern(topic, "global_table()")
        prefix = f"{checked_name(topic, 'topic')}-"
        reset = checked_reset(offset_reset, "offset_reset of global_table()")
        rows = table_store_spec(
            self._graph.names.store(None, prefix) if store is None else store, "global_table", key_serde, value_serde
        )
        settings = SourceSettings(key_serde, value_serde, timestamp_extractor, reset)
        source = source_of_store(self._graph, topic, name, settings, "global_table()", is_global=True)
        self._graph.add(source)
        node = TableSource(
            name=self._graph.names.node(name, "KTABLE-SOURCE-"), parents=(source.name,), store_when_needed=rows
        )
        self._graph.add(node)
        materialize_source(self._graph, node)
        return GlobalKTable(self._graph, rows.name, queryable=store is not None)

    def build(self) -> Topology:
        """Returns the finished topology.

        Raises:
            TopologyError: if the topology has no input topic, because no stream or table was created.
        """
        graph = self._graph.build()
        if not graph.shown_source_topics:
            message = "The topology reads no topic. Start with builder.stream(...)."
            raise TopologyError(message)
        return Topology(graph)
