"""Joins of a table with another one: by key, or by a foreign key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from headrace._graph.stores import TableStore
from headrace.dsl.joins.options import Join, TableJoinOptions
from headrace.dsl.tables.handle import TableHandle
from headrace.dsl.type_variables import V2, Foreign, K, Other, V
from headrace.model.routing import StreamPartitioner
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable


class TableJoins(TableHandle[K, V]):
    """The joins of `KTable`. There is an overload for each kind of join, with the options that fit it."""

    @overload
    def join(
        self,
        other: KTable[K, Other],
        joiner: Callable[[V, Other], V2 | None],
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    @overload
    def join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[V, Other], V2 | None],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        partitioner: StreamPartitioner[K, None] | None = None,
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    @overload
    def join(
        self,
        other: KTable[K, Other],
        joiner: Callable[[K, V, Other], V2 | None],
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    @overload
    def join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[K, V, Other], V2 | None],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        partitioner: StreamPartitioner[K, None] | None = None,
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    @overload
    def join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[K, Foreign, V, Other], V2 | None],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        partitioner: StreamPartitioner[K, None] | None = None,
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    def join(
        self,
        other: Any,
        joiner: Any,
        *,
        foreign_key: Callable[[Any, Any], Any] | None = None,
        partitioner: StreamPartitioner[Any, None] | None = None,
        other_partitioner: StreamPartitioner[Any, None] | None = None,
        store: TableStore | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[Any, Any]:
        """Combines the matching rows of both tables, as `joiner(value, other value)` under this table's keys.

        Rows match if they have the same key; with `foreign_key(key, value)`, a row matches the row of that key in the
        other table. Both sides trigger. A result has the higher timestamp of the two rows; with a foreign key, a change
        of the other table gives its results the timestamp of that change. If a row loses its match, its result is
        deleted. A joiner with three parameters gets the key first: `joiner(key, value, other value)`.

        Args:
            other: the table to join with.
            joiner: returns the result, given both values; or the key and both values; with `foreign_key` also both keys
                and both values. `None` deletes the result.
            foreign_key: returns the key of the other table's row; `None` for no match.
            partitioner: with a foreign key: `(topic, key, None, partitions) -> partition`, the rule by which the topic
                of this table is partitioned, if it is not Kafka's.
            other_partitioner: with a foreign key: the rule by which the topic of the other table is partitioned.
            store: names a store for the result, to query it; or its spec, e.g. `Stores.versioned_key_value(...)`.
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
        options = {
            "foreign_key": foreign_key,
            "partitioner": partitioner,
            "other_partitioner": other_partitioner,
            "store": store,
            "value_serde": value_serde,
            "name": name,
        }
        return self._join(other, Join.of("join", joiner, **options))

    @overload
    def left_join(
        self,
        other: KTable[K, Other],
        joiner: Callable[[V, Other | None], V2 | None],
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    @overload
    def left_join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[V, Other | None], V2 | None],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        partitioner: StreamPartitioner[K, None] | None = None,
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    @overload
    def left_join(
        self,
        other: KTable[K, Other],
        joiner: Callable[[K, V, Other | None], V2 | None],
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    @overload
    def left_join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[K, V, Other | None], V2 | None],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        partitioner: StreamPartitioner[K, None] | None = None,
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    @overload
    def left_join(
        self,
        other: KTable[Foreign, Other],
        joiner: Callable[[K, Foreign | None, V, Other | None], V2 | None],
        *,
        foreign_key: Callable[[K, V], Foreign | None],
        partitioner: StreamPartitioner[K, None] | None = None,
        other_partitioner: StreamPartitioner[Foreign, None] | None = None,
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    def left_join(
        self,
        other: Any,
        joiner: Any,
        *,
        foreign_key: Callable[[Any, Any], Any] | None = None,
        partitioner: StreamPartitioner[Any, None] | None = None,
        other_partitioner: StreamPartitioner[Any, None] | None = None,
        store: TableStore | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[Any, Any]:
        """Joins as `join` does, with a result for every row of this table: `joiner(value, None)` if it is unmatched.

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
        options = {
            "foreign_key": foreign_key,
            "partitioner": partitioner,
            "other_partitioner": other_partitioner,
            "store": store,
            "value_serde": value_serde,
            "name": name,
        }
        return self._join(other, Join.of("left_join", joiner, **options))

    @overload
    def outer_join(
        self,
        other: KTable[K, Other],
        joiner: Callable[[V | None, Other | None], V2 | None],
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    @overload
    def outer_join(
        self,
        other: KTable[K, Other],
        joiner: Callable[[K, V | None, Other | None], V2 | None],
        **options: Unpack[TableJoinOptions[V2]],
    ) -> KTable[K, V2]: ...

    def outer_join(
        self,
        other: Any,
        joiner: Any,
        *,
        store: TableStore | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[Any, Any]:
        """Joins as `left_join` does, with a result for every row of either table; the missing value is `None`.

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
        return self._join(other, Join.of("outer_join", joiner, store=store, value_serde=value_serde, name=name))

    def _join(self, other: object, join: Join) -> KTable[Any, Any]:
        from headrace.dsl.joins.dispatch import join_table  # it makes streams and tables

        return join_table(cast("KTable[Any, Any]", self), other, join)
