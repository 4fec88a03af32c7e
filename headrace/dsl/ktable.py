"""`KTable`: the newest value of every key, as a stream of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, Unpack, overload

from headrace._graph.checks import checked_callable
from headrace._graph.graph import GraphBuilder
from headrace._graph.names import checked_name
from headrace._graph.nodes import Node, Suppress, TableFilter, TableGroupBy, TableMapValues, TableToStream
from headrace._graph.stores import SuppressBufferSpec
from headrace._graph.tables.materialized import table_store_spec
from headrace._graph.tables.old_values import send_old_values
from headrace._graph.windows.closing import close_wait_ms
from headrace.dsl.joins.options import Join, TableJoinOptions
from headrace.errors import TopologyError
from headrace.model.emission import Suppressed
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
K2 = TypeVar("K2")
V2 = TypeVar("V2")
Other = TypeVar("Other")
Foreign = TypeVar("Foreign")


class KTable(Generic[K, V]):
    """A table: one row per key, changing over time. A change to `None` deletes the row.

    Made by `builder.table()`, `stream.to_table()` or an aggregation. Operators keep the timestamp of each change. A
    table keeps its rows in a store if you name one, or if something downstream needs them.
    """

    def __init__(
        self,
        graph: GraphBuilder,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        *,
        versioned: bool = False,
    ) -> None:
        self._graph = graph
        self._node = node
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._versioned = versioned

    def filter(
        self, predicate: Callable[[K, V], object], *, store: str | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """The rows for which `predicate(key, value)` holds; to those downstream, the others are deleted.

        A row that was not in the result before is not deleted again where the table before keeps its rows. The
        predicate is not asked about deleted rows.

        Args:
            predicate: decides which rows stay.
            store: names a store for the result, to query it.
            name: name of the operator.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import run_table
            >>> run_table(lambda table: table.filter(lambda key, value: value > 1), ("a", 2, 1), ("a", 1, 2))
            [Record(key='a', value=2, timestamp_ms=1), Record(key='a', value=None, timestamp_ms=2)]
        """
        checked_callable(predicate, "filter", "predicate(key, value)")
        return self._filtered("filter", predicate, store, name, keep=True)

    def filter_not(
        self, predicate: Callable[[K, V], object], *, store: str | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """The rows for which `predicate(key, value)` does not hold; otherwise as `filter`.

        Example:
            >>> from headrace.testing import run_table
            >>> run_table(lambda table: table.filter_not(lambda key, value: value > 1), ("a", 1, 5))
            [Record(key='a', value=1, timestamp_ms=5)]
        """
        checked_callable(predicate, "filter_not", "predicate(key, value)")
        return self._filtered("filter_not", predicate, store, name, keep=False)

    def map_values(
        self,
        mapper: Callable[[V], V2],
        *,
        store: str | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """Each row with the value `mapper(value)`; a result of `None` deletes the row, deleted rows are not mapped.

        Args:
            mapper: makes the new value.
            store: names a store for the result, to query it.
            value_serde: serde of the new values.
            name: name of the operator.

        Example:
            >>> from headrace.testing import run_table
            >>> run_table(lambda table: table.map_values(str.upper), ("a", "x", 1), ("a", None, 2))
            [Record(key='a', value='X', timestamp_ms=1), Record(key='a', value=None, timestamp_ms=2)]
        """
        checked_callable(mapper, "map_values", "mapper(value)")
        return self._mapped("map_values", lambda _, value: mapper(value), store, value_serde, name)

    def map_values_with_key(
        self,
        mapper: Callable[[K, V], V2],
        *,
        store: str | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """Each row with the value `mapper(key, value)`; otherwise as `map_values`.

        Example:
            >>> from headrace.testing import run_table
            >>> run_table(lambda table: table.map_values_with_key(lambda key, value: f"{key}={value}"), ("a", 7, 1))
            [Record(key='a', value='a=7', timestamp_ms=1)]
        """
        checked_callable(mapper, "map_values_with_key", "mapper(key, value)")
        return self._mapped("map_values_with_key", mapper, store, value_serde, name)

    def to_stream(self, *, name: str | None = None) -> KStream[K, V]:
        """Every change as a record: the key, the new value (`None` for a deleted row), the row's timestamp.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> builder.stream("in").group_by_key().count().to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("in").pipe("a", "x", timestamp_ms=5)
            ...     driver.input_topic("in").pipe("a", "y", timestamp_ms=3)
            ...     driver.output_topic("out").read_all()
            [Record(key='a', value=1, timestamp_ms=5), Record(key='a', value=2, timestamp_ms=5)]
        """
        node = TableToStream(name=self._graph.names.node(name, "KTABLE-TOSTREAM-"), parents=(self._node,))
        self._graph.add(node)
        return KStream(self._graph, node.name, self._key_serde, self._value_serde, repartition_required=False)

    def suppress(self, suppressed: Suppressed, *, name: str | None = None) -> KTable[K, V]:
        """The same rows with fewer updates: each is held back, and only the last of those held back is passed on.

        Rows leave by their buffer time, then by key bytes, with the timestamp and headers of their last update. Only
        records that arrive here move time on: without input, rows wait. `until_window_closes` passes on no deletions;
        `until_time_limit` does.

        Args:
            suppressed: until when rows are held back, and how many.
            name: name of the operator; its buffer is `<name>-store`.

        Raises:
            TopologyError: for a versioned table; for `until_window_closes` on a table without windows, or with windows
                that never close.

        Example:
            >>> from datetime import timedelta
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> windows = hr.TimeWindows.of(timedelta(milliseconds=10), grace=timedelta(milliseconds=2))
            >>> counts = builder.stream("in").group_by_key().windowed_by(windows).count()
            >>> counts.suppress(hr.Suppressed.until_window_closes()).to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     for timestamp_ms in (3, 11, 7, 12):
            ...         driver.input_topic("in").pipe("k", "v", timestamp_ms)
            ...     for record in driver.output_topic("out").read_all():
            ...         print(record.key, record.value, record.timestamp_ms)
            [k@0/10] 2 7
        """
        self._check_suppressed(suppressed)
        limit_ms = suppressed.limit_ms
        wait_ms = close_wait_ms(self._graph, self._node) if limit_ms is None else limit_ms
        send_old_values(self._graph, self._node, materialize=True)
        names, prefix = self._graph.names, "KTABLE-SUPPRESS-"
        # Unlike other operators, a named suppress uses up no index in Kafka Streams.
        node_name = names.generate(prefix) if name is None else checked_name(name, "node")
        store = SuppressBufferSpec(
            name=names.store(None if name is None else f"{name}-store", prefix),
            key_serde=self._key_serde,
            value_serde=self._value_serde,
        )
        node = Suppress(
            name=node_name,
            parents=(self._node,),
            stores=(self._graph.add_store(store).name,),
            send_old_values=True,
            until_window_closes=limit_ms is None,
            wait_ms=wait_ms,
            buffer=suppressed.buffer,
        )
        return self._derived(node, self._value_serde)

    @overload
    def join(
        self, other: KTable[K, Other], joiner: Callable[[V, Other], V2], **options: Unpack[TableJoinOptions]
    ) -> KTable[K, V2]: ...

    @overload
    def join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[V, Other], V2],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        **options: Unpack[TableJoinOptions],
    ) -> KTable[K, V2]: ...

    def join(
        self,
        other: KTable[Any, Any],
        joiner: Callable[[V, Any], V2],
        *,
        foreign_key: Callable[[K, V], Any] | None = None,
        store: str | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """The rows of both tables that belong together, as `joiner(value, other value)` under this table's keys.

        Rows belong together if they have the same key; with `foreign_key(key, value)`, if that is the key of the other
        row. Both sides trigger. A result carries the higher timestamp of the two rows; what the other table causes by
        foreign key carries the timestamp of that change. A row that loses its partner is deleted from the result.

        Args:
            other: the other table.
            joiner: makes the result of both values.
            foreign_key: the key of the other table's row; `None` for a row without one.
            store: names a store for the result, to query it.
            value_serde: serde of the result.
            name: name of the operator.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> orders, products = builder.table("orders"), builder.table("products")
            >>> priced = orders.join(
            ...     products,
            ...     lambda order, price: order["count"] * price,
            ...     foreign_key=lambda number, order: order["product"],
            ... )
            >>> priced.to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("orders").pipe("o1", {"product": "pen", "count": 3}, timestamp_ms=1)
            ...     driver.input_topic("products").pipe("pen", 2, timestamp_ms=2)
            ...     driver.input_topic("products").pipe("pen", 5, timestamp_ms=3)
            ...     driver.output_topic("out").read_all()
            [Record(key='o1', value=6, timestamp_ms=2), Record(key='o1', value=15, timestamp_ms=3)]
        """
        options = {"foreign_key": foreign_key, "store": store, "value_serde": value_serde, "name": name}
        return dispatch.join_table(self, other, Join.of("join", joiner, **options))

    @overload
    def left_join(
        self, other: KTable[K, Other], joiner: Callable[[V, Other | None], V2], **options: Unpack[TableJoinOptions]
    ) -> KTable[K, V2]: ...

    @overload
    def left_join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[V, Other | None], V2],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        **options: Unpack[TableJoinOptions],
    ) -> KTable[K, V2]: ...

    def left_join(
        self,
        other: KTable[Any, Any],
        joiner: Callable[[V, Any], V2],
        *,
        foreign_key: Callable[[K, V], Any] | None = None,
        store: str | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """As `join`, but every row of this table is in the result; without a partner as `joiner(value, None)`.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> names, cities = builder.table("names"), builder.table("cities")
            >>> names.left_join(cities, lambda name, city: [name, city]).to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("names").pipe("k", "Ann", timestamp_ms=7)
            ...     driver.input_topic("cities").pipe("k", "Bern", timestamp_ms=5)
            ...     [(record.value, record.timestamp_ms) for record in driver.output_topic("out").read_all()]
            [(['Ann', None], 7), (['Ann', 'Bern'], 7)]
        """
        options = {"foreign_key": foreign_key, "store": store, "value_serde": value_serde, "name": name}
        return dispatch.join_table(self, other, Join.of("left_join", joiner, **options))

    def outer_join(
        self,
        other: KTable[K, Other],
        joiner: Callable[[V | None, Other | None], V2],
        *,
        store: str | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """As `left_join`, for the rows of both tables: the side without a row is `None`.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> builder = hr.StreamsBuilder()
            >>> names, cities = builder.table("names"), builder.table("cities")
            >>> names.outer_join(cities, lambda name, city: [name, city], store="both").to_stream().to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     driver.input_topic("cities").pipe("k", "Bern", timestamp_ms=5)
            ...     driver.store("both").get("k")
            [None, 'Bern']
        """
        return dispatch.join_table(
            self, other, Join.of("outer_join", joiner, store=store, value_serde=value_serde, name=name)
        )

    def group_by(
        self,
        selector: Callable[[K, V], tuple[K2, V2] | None],
        *,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KGroupedTable[K2, V2]:
        """The rows grouped by another key, to be aggregated: `selector(key, value)` gives `(group, value)`.

        When a row changes within its group, old and new value travel as one event; when it moves to another group, the
        old value leaves the old group first. A row whose group or value is `None` belongs to no group. Groups are the
        same if they are `==`.

        Args:
            selector: gives the group of a row, and what of the row is aggregated.
            key_serde: serde of the groups.
            value_serde: serde of the grouped values.
            name: names the repartition, `<name>-repartition`.
        """
        checked_callable(selector, "group_by", "selector(key, value) -> (group, value)")
        send_old_values(self._graph, self._node, materialize=True)
        node = self._graph.add(
            TableGroupBy(
                name=self._graph.names.node(name, "KTABLE-SELECT-"),
                parents=(self._node,),
                selector=selector,
                key_serde=key_serde,
            )
        )
        return KGroupedTable(self._graph, node.name, key_serde, value_serde, name=name)

    def _check_suppressed(self, suppressed: Suppressed) -> None:
        if not isinstance(suppressed, Suppressed):
            message = (
                f"suppress() of {self._node} was given {suppressed!r}; allowed: Suppressed.until_window_closes(), "
                "Suppressed.until_time_limit(limit)."
            )
            raise TopologyError(message)
        if self._versioned:
            message = (
                f"suppress() of {self._node} was given a versioned table; allowed are tables that keep only the latest "
                "version. Make it without Stores.versioned_key_value(...), or name a store= in the operator before."
            )
            raise TopologyError(message)

    def _filtered(
        self,
        operation: str,
        predicate: Callable[[K, V], object],
        store: str | None,
        name: str | None,
        *,
        keep: bool,
    ) -> KTable[K, V]:
        node = TableFilter(
            name=self._graph.names.node(name, "KTABLE-FILTER-"),
            parents=(self._node,),
            stores=self._own_store(operation, store, self._value_serde),
            predicate=predicate,
            keep=keep,
            send_old_values=send_old_values(self._graph, self._node, materialize=False),
            versioned=self._versioned,
        )
        return self._derived(node, self._value_serde)

    def _mapped(
        self,
        operation: str,
        mapper: Callable[[K, V], V2],
        store: str | None,
        value_serde: Serde[Any] | None,
        name: str | None,
    ) -> KTable[K, V2]:
        node = TableMapValues(
            name=self._graph.names.node(name, "KTABLE-MAPVALUES-"),
            parents=(self._node,),
            stores=self._own_store(operation, store, value_serde),
            mapper=mapper,
        )
        return self._derived(node, value_serde)

    def _own_store(self, operation: str, store: str | None, value_serde: Serde[Any] | None) -> tuple[str, ...]:
        if store is None:
            return ()
        return (self._graph.add_store(table_store_spec(store, operation, self._key_serde, value_serde)).name,)

    def _derived(self, node: Node, value_serde: Serde[Any] | None) -> KTable[Any, Any]:
        self._graph.add(node)
        versioned = self._versioned and not node.stores
        return KTable(self._graph, node.name, self._key_serde, value_serde, versioned=versioned)

    def _table(self, node: str, value_serde: Serde[Any] | None) -> KTable[Any, Any]:
        """A table with the same keys that keeps only the latest rows."""
        return KTable(self._graph, node, self._key_serde, value_serde)

    def __repr__(self) -> str:
        return f"<KTable {self._node}>"


from headrace.dsl.grouped_table import KGroupedTable  # noqa: E402  an aggregation returns tables
from headrace.dsl.joins import dispatch  # noqa: E402  a join returns streams and tables
from headrace.dsl.kstream import KStream  # noqa: E402  a stream makes tables, and a table streams
