"""`KStream`: an unbounded stream of records. Methods check their arguments, add a node, and return a new handle."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, Generic, TypeVar, Unpack, overload

from headrace._graph.checks import checked_callable, checked_factory
from headrace._graph.graph import GraphBuilder
from headrace._graph.names import checked_name
from headrace._graph.nodes import (
    Filter,
    FlatMap,
    FlatMapValues,
    ForEach,
    Map,
    MapValues,
    MapValuesWithKey,
    Node,
    PassThrough,
    Peek,
    Print,
    Process,
    SelectKey,
    Sink,
    TableSource,
)
from headrace._graph.repartition import add_repartition
from headrace._graph.stores import StoreSpec, VersionedSpec
from headrace._graph.tables.materialized import table_store_spec
from headrace._graph.tables.old_values import materialize_source
from headrace.dsl.joins.options import Join, JoinName, RepartitionOptions, StreamJoinOptions
from headrace.errors import TopologyError
from headrace.model.processor import ProcessorFactory
from headrace.model.windows import JoinWindows
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
Other = TypeVar("Other")
Foreign = TypeVar("Foreign")


class KStream(Generic[K, V]):
    """A stream of records. Every operator keeps the input record's timestamp and headers on each of its outputs.

    Operators that may change the key mark the stream: where the key next decides (an aggregation), records are
    repartitioned by it, exactly when Kafka Streams does so.
    """

    def __init__(
        self,
        graph: GraphBuilder,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        *,
        repartition_required: bool,
    ) -> None:
        self._graph = graph
        self._node = node
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._repartition_required = repartition_required

    def filter(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """The records for which `predicate(key, value)` holds.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.filter(lambda key, value: value > 1), ("a", 1, 10), ("a", 2, 11))
            [Record(key='a', value=2, timestamp_ms=11)]
        """
        checked_callable(predicate, "filter", "predicate(key, value)")
        return self._same_key(self._add(Filter, "KSTREAM-FILTER-", name, predicate=predicate), self._value_serde)

    def filter_not(self, predicate: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """The records for which `predicate(key, value)` does not hold.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.filter_not(lambda key, value: value > 1), ("a", 1, 10), ("a", 2, 11))
            [Record(key='a', value=1, timestamp_ms=10)]
        """
        checked_callable(predicate, "filter_not", "predicate(key, value)")
        node = self._add(Filter, "KSTREAM-FILTER-", name, predicate=predicate, keep=False)
        return self._same_key(node, self._value_serde)

    def map(self, mapper: Callable[[K, V], tuple[K2, V2]], *, name: str | None = None) -> KStream[K2, V2]:
        """Each record as the `(key, value)` that `mapper(key, value)` returns. Marks the stream for repartitioning.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.map(lambda key, value: (value, key)), ("a", "b", 10))
            [Record(key='b', value='a', timestamp_ms=10)]
        """
        checked_callable(mapper, "map", "mapper(key, value) -> (key, value)")
        return self._new_key(self._add(Map, "KSTREAM-MAP-", name, mapper=mapper), None)

    def map_values(self, mapper: Callable[[V], V2], *, name: str | None = None) -> KStream[K, V2]:
        """Each record with the value `mapper(value)`; the key stays, and so does the partitioning.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.map_values(lambda value: value * 2), ("a", 4, 10))
            [Record(key='a', value=8, timestamp_ms=10)]
        """
        checked_callable(mapper, "map_values", "mapper(value)")
        return self._same_key(self._add(MapValues, "KSTREAM-MAPVALUES-", name, mapper=mapper), None)

    def map_values_with_key(self, mapper: Callable[[K, V], V2], *, name: str | None = None) -> KStream[K, V2]:
        """Each record with the value `mapper(key, value)`; the key stays, and so does the partitioning.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.map_values_with_key(lambda key, value: f"{key}:{value}"), ("a", 4, 10))
            [Record(key='a', value='a:4', timestamp_ms=10)]
        """
        checked_callable(mapper, "map_values_with_key", "mapper(key, value)")
        return self._same_key(self._add(MapValuesWithKey, "KSTREAM-MAPVALUES-", name, mapper=mapper), None)

    def flat_map(
        self, mapper: Callable[[K, V], Iterable[tuple[K2, V2]]], *, name: str | None = None
    ) -> KStream[K2, V2]:
        """Each record as any number of `(key, value)` pairs, in their order, all with the record's timestamp.

        Marks the stream for repartitioning.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.flat_map(lambda key, value: [(c, key) for c in value]), ("a", "xy", 1))
            [Record(key='x', value='a', timestamp_ms=1), Record(key='y', value='a', timestamp_ms=1)]
        """
        checked_callable(mapper, "flat_map", "mapper(key, value) -> iterable of (key, value)")
        return self._new_key(self._add(FlatMap, "KSTREAM-FLATMAP-", name, mapper=mapper), None)

    def flat_map_values(self, mapper: Callable[[V], Iterable[V2]], *, name: str | None = None) -> KStream[K, V2]:
        """Each record as any number of values under its key, in their order, all with the record's timestamp.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.flat_map_values(str.split), ("a", "to be", 10))
            [Record(key='a', value='to', timestamp_ms=10), Record(key='a', value='be', timestamp_ms=10)]
        """
        checked_callable(mapper, "flat_map_values", "mapper(value) -> iterable of values")
        return self._same_key(self._add(FlatMapValues, "KSTREAM-FLATMAPVALUES-", name, mapper=mapper), None)

    def select_key(
        self, selector: Callable[[K, V], K2], *, key_serde: Serde[Any] | None = None, name: str | None = None
    ) -> KStream[K2, V]:
        """Each record under the key `selector(key, value)`. Marks the stream for repartitioning.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.select_key(lambda key, value: value[0]), ("a", "xy", 10))
            [Record(key='x', value='xy', timestamp_ms=10)]
        """
        checked_callable(selector, "select_key", "selector(key, value)")
        node = self._add(SelectKey, "KSTREAM-KEY-SELECT-", name, selector=selector)
        return self._handle(node, key_serde, self._value_serde, repartition_required=True)

    def peek(self, action: Callable[[K, V], object], *, name: str | None = None) -> KStream[K, V]:
        """The same stream, after calling `action(key, value)` for each record.

        On Spark the action runs on the workers, and again when a batch is repeated after a failure.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.peek(print), ("a", 1, 10))
            a 1
            [Record(key='a', value=1, timestamp_ms=10)]
        """
        checked_callable(action, "peek", "action(key, value)")
        return self._same_key(self._add(Peek, "KSTREAM-PEEK-", name, action=action), self._value_serde)

    def for_each(self, action: Callable[[K, V], object], *, name: str | None = None) -> None:
        """Calls `action(key, value)` for each record; the end of this stream.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.for_each(print), ("a", 1, 10))
            a 1
            []
        """
        checked_callable(action, "for_each", "action(key, value)")
        self._add(ForEach, "KSTREAM-FOREACH-", name, action=action)

    def print(self, *, label: str | None = None, name: str | None = None) -> None:
        """Prints `[label]: key, value` for each record, as Kafka Streams does; the end of this stream.

        The label is by default the name of the node before. On Spark it prints on the workers.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.print(label="in"), ("a", None, 10))
            [in]: a, null
            []
        """
        self._add(Print, "KSTREAM-PRINTER-", name, label=self._node if label is None else label)

    def merge(self, other: KStream[K, V], *, name: str | None = None) -> KStream[K, V]:
        """The records of both streams; each keeps its order, across them the smaller timestamp goes first.

        Example:
            >>> from headrace.testing import run_stream
            >>> def both(stream):
            ...     upper, lower = stream.map_values(str.upper), stream.map_values(str.lower)
            ...     return upper.merge(lower)
            >>> run_stream(both, ("a", "x", 10))
            [Record(key='a', value='X', timestamp_ms=10), Record(key='a', value='x', timestamp_ms=10)]
        """
        if not isinstance(other, KStream):
            message = f"merge() needs another KStream; got {other!r} of type {type(other).__name__}."
            raise TopologyError(message)
        if other._graph is not self._graph:
            message = "merge() needs two streams of the same StreamsBuilder."
            raise TopologyError(message)
        node = PassThrough(name=self._graph.names.node(name, "KSTREAM-MERGE-"), parents=(self._node, other._node))
        self._graph.add(node)
        return self._handle(
            node.name,
            self._key_serde if self._key_serde == other._key_serde else None,
            self._value_serde if self._value_serde == other._value_serde else None,
            repartition_required=self._repartition_required or other._repartition_required,
        )

    def split(self, *, name: str | None = None) -> BranchedKStream[K, V]:
        """Begins a split into branches: each record goes to the first branch whose predicate holds.

        Example:
            >>> from headrace.testing import run_stream
            >>> def sizes(stream):
            ...     branches = (
            ...         stream.split().branch(lambda key, value: value > 9, name="big").default(name="small")
            ...     )
            ...     return branches["small"].map_values(lambda value: -value).merge(branches["big"])
            >>> run_stream(sizes, ("a", 10, 1), ("a", 2, 2))
            [Record(key='a', value=10, timestamp_ms=1), Record(key='a', value=-2, timestamp_ms=2)]
        """
        return BranchedKStream(self, self._graph.names.node(name, "KSTREAM-BRANCH-"))

    def repartition(
        self,
        name: str | None = None,
        *,
        partitions: int | None = None,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
    ) -> KStream[K, V]:
        """The same records, dealt anew over `partitions` by their key. Records without a key are dropped and counted.

        Args:
            name: names the internal topic, `<name>-repartition`.
            partitions: how many; default: as many as the largest topic before.
            key_serde: serde of the keys from here on.
            value_serde: serde of the values from here on.
        """
        if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
            message = f"repartition() was given partitions={partitions!r}; it must be a whole number of 1 or more."
            raise TopologyError(message)
        base = self._graph.names.generate("KSTREAM-REPARTITION-") if name is None else checked_name(name, "repartition")
        keys, values = key_serde or self._key_serde, value_serde or self._value_serde
        source = add_repartition(
            self._graph, self._node, base, key_serde=keys, value_serde=values, partitions=partitions
        )
        return self._handle(source, keys, values, repartition_required=False)

    def process(
        self, factory: ProcessorFactory, *, stores: Iterable[StoreSpec | str] = (), name: str | None = None
    ) -> KStream[Any, Any]:
        """Every record through a processor of your own. Marks the stream for repartitioning.

        Args:
            factory: makes a new processor for every task; a `Processor` class, or a function without arguments.
            stores: what the processor may use: as made by `Stores`, or the names of stores already there. Processors
                given the very same store share it, and run in the same task.
            name: name of the processor node.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import run_stream
            >>> class Changes(hr.Processor):
            ...     def process(self, record):
            ...         last = self.context.state_store("last")
            ...         if last.get(record.key) != record.value:
            ...             self.context.forward(record)
            ...         last.put(record.key, record.value)
            >>> def changes(stream):
            ...     return stream.process(Changes, stores=[hr.Stores.key_value("last")])
            >>> run_stream(changes, ("a", 1, 10), ("a", 1, 11), ("a", 2, 12))
            [Record(key='a', value=1, timestamp_ms=10), Record(key='a', value=2, timestamp_ms=12)]
        """
        node = self._process("KSTREAM-PROCESSOR-", name, "process()", factory, stores)
        return self._new_key(node, None)

    def process_values(
        self, factory: ProcessorFactory, *, stores: Iterable[StoreSpec | str] = (), name: str | None = None
    ) -> KStream[K, Any]:
        """Every record through a processor of your own that keeps the key; the partitioning stays.

        The arguments are those of `process`; a record with another key than the given one cannot be forwarded.
        """
        node = self._process("KSTREAM-PROCESSVALUES-", name, "process_values()", factory, stores, fixed_key=True)
        return self._same_key(node, None)

    def to(
        self,
        topic: str,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> None:
        """Writes each record to a topic: key, value, timestamp and headers; the end of this stream.

        The partition is Kafka's: a hash of the serialized key. Null keys and values are written as nulls.

        Args:
            topic: the topic; one that does not exist is created.
            key_serde: serde of the keys; default: the stream's, then the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the stream's, then the configured one, then `serdes.Json()`.
            name: name of the sink node.
        """
        self._add(
            Sink,
            "KSTREAM-SINK-",
            name,
            topic=checked_name(topic, "topic"),
            key_serde=key_serde or self._key_serde,
            value_serde=value_serde or self._value_serde,
        )

    def to_table(
        self,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        store: str | StoreSpec | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """The newest record of every key as a table; a record with the value `None` deletes the row.

        Repartitions only if the key may have changed. Records without a key are dropped and counted.

        Args:
            key_serde: serde of the keys in repartition and store.
            value_serde: serde of the values in repartition and store.
            store: names the store of the rows, to query it; or describes it: `Stores.versioned_key_value(...)`.
            name: name of the table node.

        Example:
            >>> from headrace.testing import run_stream
            >>> run_stream(lambda stream: stream.to_table().to_stream(), ("a", 1, 10), ("a", None, 12))
            [Record(key='a', value=1, timestamp_ms=10), Record(key='a', value=None, timestamp_ms=12)]
        """
        keys, values = key_serde or self._key_serde, value_serde or self._value_serde
        prefix = "KSTREAM-TOTABLE-"
        node_name = self._graph.names.node(name, prefix)
        kept = table_store_spec(
            self._graph.names.store(None, prefix) if store is None else store, "to_table", keys, values, VersionedSpec
        )
        parent = self._node
        if self._repartition_required:
            parent = add_repartition(self._graph, parent, node_name, key_serde=keys, value_serde=values)
        node = TableSource(name=node_name, parents=(parent,), store_when_needed=kept)
        self._graph.add(node)
        if store is not None:
            materialize_source(self._graph, node)
        return KTable(self._graph, node_name, keys, values, versioned=isinstance(kept, VersionedSpec))

    @overload
    def join(
        self,
        other: KStream[K, Other],
        joiner: Callable[[V, Other], V2],
        *,
        within: JoinWindows,
        **options: Unpack[StreamJoinOptions],
    ) -> KStream[K, V2]: ...

    @overload
    def join(
        self,
        other: KTable[K, Other],
        joiner: Callable[[V, Other], V2],
        *,
        grace: timedelta | None = None,
        **options: Unpack[RepartitionOptions],
    ) -> KStream[K, V2]: ...

    @overload
    def join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[V, Other], V2],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        **options: Unpack[RepartitionOptions],
    ) -> KStream[K, V2]: ...

    @overload
    def join(
        self,
        other: GlobalKTable[Foreign, Other],
        joiner: Callable[[V, Other], V2],
        *,
        key_selector: Callable[[K, V], Foreign | None],
        **options: Unpack[JoinName],
    ) -> KStream[K, V2]: ...

    @overload
    def join(
        self, other: GlobalKTable[K, Other], joiner: Callable[[V, Other], V2], **options: Unpack[JoinName]
    ) -> KStream[K, V2]: ...

    def join(
        self,
        other: KStream[K, Any] | KTable[Any, Any] | GlobalKTable[Any, Any],
        joiner: Callable[[V, Any], V2],
        *,
        within: JoinWindows | None = None,
        grace: timedelta | None = None,
        key_selector: Callable[[K, V], Any] | None = None,
        foreign_key: Callable[[K, V], Any] | None = None,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Each record together with its partners in another stream or in a table: `joiner(value, other value)`.

        A **stream** is joined `within` windows: both sides trigger, the result has the higher of both timestamps. With
        a **table**, only this stream triggers: each record meets the row that its key has at that moment, or with
        `foreign_key(key, value)` the row of that key; with a versioned table, the row as of the record's timestamp. A
        **global table** is asked for the row of `key_selector(key, value)`. Joined with tables, a result keeps key and
        timestamp of the record. Records without a value are dropped and counted, so are those without a key; with a
        global table, those that select none.

        Args:
            other: what to join with.
            joiner: makes the result of both values.
            within: for streams: how far apart partners may be.
            grace: for versioned tables: how long records wait for late rows.
            key_selector: for global tables: the key of the row; it may be `None`. Default: the record's key.
            foreign_key: for tables: the key of the row, where it is another than the record's; it may be `None`.
            key_serde: serde of the keys in repartition and stores.
            value_serde: serde of this stream's values in repartition and stores.
            other_value_serde: for streams: serde of the other stream's values.
            store: for streams: names the stores that keep both sides, `<store>-this-join-store` and so on.
            name: name of the operator, and of what it repartitions.

        Example:
            >>> from datetime import timedelta
            >>> from headrace.testing import run_stream
            >>> within = JoinWindows.of(timedelta(seconds=5))
            >>> def with_itself(stream):
            ...     big = stream.filter(lambda key, value: value > 9)
            ...     return stream.join(big, lambda value, other: [value, other], within=within)
            >>> run_stream(with_itself, ("a", 1, 4_000), ("a", 10, 2_000))[0]
            Record(key='a', value=[1, 10], timestamp_ms=4000)
        """
        options = Join.of(
            "join",
            joiner,
            within=within,
            grace=grace,
            key_selector=key_selector,
            foreign_key=foreign_key,
            key_serde=key_serde,
            value_serde=value_serde,
            other_value_serde=other_value_serde,
            store=store,
            name=name,
        )
        return dispatch.join_stream(self, other, options)

    @overload
    def left_join(
        self,
        other: KStream[K, Other],
        joiner: Callable[[V, Other | None], V2],
        *,
        within: JoinWindows,
        **options: Unpack[StreamJoinOptions],
    ) -> KStream[K, V2]: ...

    @overload
    def left_join(
        self,
        other: KTable[K, Other],
        joiner: Callable[[V, Other | None], V2],
        *,
        grace: timedelta | None = None,
        **options: Unpack[RepartitionOptions],
    ) -> KStream[K, V2]: ...

    @overload
    def left_join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[V, Other | None], V2],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        **options: Unpack[RepartitionOptions],
    ) -> KStream[K, V2]: ...

    @overload
    def left_join(
        self,
        other: GlobalKTable[Foreign, Other],
        joiner: Callable[[V, Other | None], V2],
        *,
        key_selector: Callable[[K, V], Foreign | None],
        **options: Unpack[JoinName],
    ) -> KStream[K, V2]: ...

    @overload
    def left_join(
        self, other: GlobalKTable[K, Other], joiner: Callable[[V, Other | None], V2], **options: Unpack[JoinName]
    ) -> KStream[K, V2]: ...

    def left_join(
        self,
        other: KStream[K, Any] | KTable[Any, Any] | GlobalKTable[Any, Any],
        joiner: Callable[[V, Any], V2],
        *,
        within: JoinWindows | None = None,
        grace: timedelta | None = None,
        key_selector: Callable[[K, V], Any] | None = None,
        foreign_key: Callable[[K, V], Any] | None = None,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """As `join`, but a record without a partner comes out too, as `joiner(value, None)` with its own timestamp.

        With a stream, that happens when its window has closed: when the stream time is beyond its timestamp, the
        windows' `after` and the grace. Records without a key, with a global table those that select none, never find a
        partner and come out at once.

        Example:
            >>> from datetime import timedelta
            >>> from headrace.testing import run_stream
            >>> within = JoinWindows.of(timedelta(milliseconds=5))
            >>> def with_big_ones(stream):
            ...     big = stream.filter(lambda key, value: value > 9)
            ...     return stream.left_join(big, lambda value, other: [value, other], within=within)
            >>> run_stream(with_big_ones, ("a", 1, 10), ("b", 2, 16))
            [Record(key='a', value=[1, None], timestamp_ms=10)]
        """
        options = Join.of(
            "left_join",
            joiner,
            within=within,
            grace=grace,
            key_selector=key_selector,
            foreign_key=foreign_key,
            key_serde=key_serde,
            value_serde=value_serde,
            other_value_serde=other_value_serde,
            store=store,
            name=name,
        )
        return dispatch.join_stream(self, other, options)

    def outer_join(
        self,
        other: KStream[K, Other],
        joiner: Callable[[V | None, Other | None], V2],
        *,
        within: JoinWindows | None = None,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
        store: str | None = None,
        name: str | None = None,
    ) -> KStream[K, V2]:
        """As `left_join` with a stream, for both sides: what finds no partner there comes out as well.

        Example:
            >>> from datetime import timedelta
            >>> from headrace.testing import run_stream
            >>> within = JoinWindows.of(timedelta(milliseconds=5))
            >>> def small_and_big(stream):
            ...     small = stream.filter(lambda key, value: value < 9)
            ...     big = stream.filter(lambda key, value: value > 9)
            ...     return small.outer_join(big, lambda value, other: [value, other], within=within)
            >>> run_stream(small_and_big, ("a", 10, 10), ("b", 2, 16))
            [Record(key='a', value=[None, 10], timestamp_ms=10)]
        """
        options = Join.of(
            "outer_join",
            joiner,
            within=within,
            key_serde=key_serde,
            value_serde=value_serde,
            other_value_serde=other_value_serde,
            store=store,
            name=name,
        )
        return dispatch.join_stream(self, other, options)

    def group_by_key(
        self,
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K, V]:
        """The records grouped by their key, to be aggregated; repartitions only if the key may have changed.

        Args:
            key_serde: serde of the keys in repartition and store.
            value_serde: serde of the values in the repartition.
            name: names the repartition, if there is one.
        """
        return KGroupedStream(
            self._graph,
            self._node,
            key_serde or self._key_serde,
            value_serde or self._value_serde,
            repartition_required=self._repartition_required,
            name=None if name is None else checked_name(name, "repartition"),
        )

    def group_by(
        self,
        selector: Callable[[K, V], K2],
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KGroupedStream[K2, V]:
        """The records grouped by the key `selector(key, value)`, to be aggregated. Always repartitions.

        Records whose new key is `None` are dropped and counted.
        """
        checked_callable(selector, "group_by", "selector(key, value)")
        node = self._add(SelectKey, "KSTREAM-KEY-SELECT-", name, selector=selector)
        return KGroupedStream(
            self._graph, node, key_serde, value_serde or self._value_serde, repartition_required=True, name=name
        )

    def _add(self, kind: type[Node], prefix: str, name: str | None, **options: Any) -> str:
        node = kind(name=self._graph.names.node(name, prefix), parents=(self._node,), **options)
        return self._graph.add(node).name

    def _process(
        self,
        prefix: str,
        name: str | None,
        operation: str,
        factory: ProcessorFactory,
        stores: Iterable[StoreSpec | str],
        *,
        fixed_key: bool = False,
    ) -> str:
        checked_factory(factory, operation)
        node = self._add(Process, prefix, name, factory=factory, fixed_key=fixed_key)
        self._graph.connect(node, [self._graph.shared_store(store, node) for store in stores])
        return node

    def _handle(
        self, node: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None, *, repartition_required: bool
    ) -> KStream[Any, Any]:
        return KStream(self._graph, node, key_serde, value_serde, repartition_required=repartition_required)

    def _same_key(self, node: str, value_serde: Serde[Any] | None) -> KStream[Any, Any]:
        return self._handle(node, self._key_serde, value_serde, repartition_required=self._repartition_required)

    def _new_key(self, node: str, value_serde: Serde[Any] | None) -> KStream[Any, Any]:
        return self._handle(node, None, value_serde, repartition_required=True)

    def __repr__(self) -> str:
        return f"<KStream {self._node}>"


from headrace.dsl.branches import BranchedKStream  # noqa: E402  a split returns streams
from headrace.dsl.global_table import GlobalKTable  # noqa: E402
from headrace.dsl.grouped_stream import KGroupedStream  # noqa: E402  an aggregation returns tables, and a table streams
from headrace.dsl.joins import dispatch  # noqa: E402  a join returns streams and tables
from headrace.dsl.ktable import KTable  # noqa: E402
