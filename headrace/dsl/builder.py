"""`StreamsBuilder`: where a topology begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypedDict, TypeVar, Unpack, overload

from headrace._graph.graph import GraphBuilder
from headrace._graph.names import checked_name
from headrace._graph.nodes import Source, TableSource
from headrace._graph.stores import StoreSpec, VersionedSpec
from headrace._graph.tables.materialized import table_store_spec
from headrace._graph.tables.old_values import materialize_source
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.topology import Topology
from headrace.errors import TopologyError
from headrace.model.timestamps import Extractor
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")


class _SourceOptions(TypedDict, total=False):
    """Options of every source, for the type checker."""

    timestamp_extractor: Extractor | None
    name: str | None


class _TableOptions(_SourceOptions, total=False):
    store: str | StoreSpec | None


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

    @overload
    def stream(self, topics: str | Sequence[str], **options: Unpack[_SourceOptions]) -> KStream[str, Any]: ...

    @overload
    def stream(
        self, topics: str | Sequence[str], *, value_serde: Serde[V], **options: Unpack[_SourceOptions]
    ) -> KStream[str, V]: ...

    @overload
    def stream(
        self, topics: str | Sequence[str], *, key_serde: Serde[K], **options: Unpack[_SourceOptions]
    ) -> KStream[K, Any]: ...

    @overload
    def stream(
        self,
        topics: str | Sequence[str],
        *,
        key_serde: Serde[K],
        value_serde: Serde[V],
        **options: Unpack[_SourceOptions],
    ) -> KStream[K, V]: ...

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
        source = self._source(listed, name, key_serde, value_serde, timestamp_extractor)
        return KStream(self._graph, source, key_serde, value_serde, repartition_required=False)

    @overload
    def table(self, topic: str, **options: Unpack[_TableOptions]) -> KTable[str, Any]: ...

    @overload
    def table(self, topic: str, *, value_serde: Serde[V], **options: Unpack[_TableOptions]) -> KTable[str, V]: ...

    @overload
    def table(self, topic: str, *, key_serde: Serde[K], **options: Unpack[_TableOptions]) -> KTable[K, Any]: ...

    @overload
    def table(
        self, topic: str, *, key_serde: Serde[K], value_serde: Serde[V], **options: Unpack[_TableOptions]
    ) -> KTable[K, V]: ...

    def table(
        self,
        topic: str,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
        store: str | StoreSpec | None = None,
        name: str | None = None,
    ) -> KTable[Any, Any]:
        """A table of the newest record of every key of a topic; a record with the value `None` deletes the row.

        Records replace rows in the order of the topic, whatever their timestamps; each change keeps its record's.
        Records without a key are dropped and counted.

        Args:
            topic: the topic.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: `(record, partition_time_ms) -> timestamp_ms`; a negative answer drops the record.
            store: names the store of the rows, to query it; or describes it: `Stores.versioned_key_value(...)` keeps
                earlier versions of the rows, and then a record that comes late is no longer the row's newest.
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
        kept = table_store_spec(
            self._graph.names.store(None, prefix) if store is None else store,
            "table",
            key_serde,
            value_serde,
            VersionedSpec,
        )
        source_name = None if name is None else f"{checked_name(name, 'node')}-source"
        source = self._source((topic,), source_name, key_serde, value_serde, timestamp_extractor)
        node = TableSource(
            name=self._graph.names.node(name, "KTABLE-SOURCE-"), parents=(source,), store_when_needed=kept
        )
        self._graph.add(node)
        if store is not None:
            materialize_source(self._graph, node)
        return KTable(self._graph, node.name, key_serde, value_serde, versioned=isinstance(kept, VersionedSpec))

    @overload
    def global_table(self, topic: str, **options: Unpack[_TableOptions]) -> GlobalKTable[str, Any]: ...

    @overload
    def global_table(
        self, topic: str, *, value_serde: Serde[V], **options: Unpack[_TableOptions]
    ) -> GlobalKTable[str, V]: ...

    @overload
    def global_table(
        self, topic: str, *, key_serde: Serde[K], **options: Unpack[_TableOptions]
    ) -> GlobalKTable[K, Any]: ...

    @overload
    def global_table(
        self, topic: str, *, key_serde: Serde[K], value_serde: Serde[V], **options: Unpack[_TableOptions]
    ) -> GlobalKTable[K, V]: ...

    def global_table(
        self,
        topic: str,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: Extractor | None = None,
        store: str | StoreSpec | None = None,
        name: str | None = None,
    ) -> GlobalKTable[Any, Any]:
        """A table of the newest record of every key of a topic, of which every task has all rows.

        Streams join it by any key, whatever the partitions of the topic. There is no common time: a record meets the
        rows there are when it is processed. An application reads the topic to its end before its first record, and
        in every micro-batch takes new rows in before the records. A record with the value `None` deletes the row.
        Records without a key are dropped and counted. The topic can be read neither as a stream nor as a table.

        Args:
            topic: the topic.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            timestamp_extractor: gives rows another timestamp than that of their record; a negative one drops the
                record. The configured one is for streams and is not asked, as in Kafka Streams.
            store: names the store of the rows, to query it; or describes it: `Stores.timestamped_key_value(...)`.
            name: name of the table node.
        """
        prefix = f"{checked_name(topic, 'topic')}-"
        kept = table_store_spec(
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
            name=self._graph.names.node(name, "KTABLE-SOURCE-"), parents=(source.name,), store_when_needed=kept
        )
        self._graph.add(node)
        materialize_source(self._graph, node)
        return GlobalKTable(self._graph, kept.name)

    def _refuse_read_already(self, topic: str) -> None:
        """A global table has its topic for itself: tasks read all of it, and others their partition."""
        source = self._graph.source_of((topic,))
        if source is not None:
            message = (
                f"global_table() was given topic {topic!r}, which source {source.name!r} reads already, and a topic "
                "can be read only once. Write its records to another topic as well, and make the global table of that."
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
        """The node that reads these topics; there is one for all who read the same."""
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
