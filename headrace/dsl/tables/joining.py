"""Joins of two tables: by key, or by a foreign key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from headrace.dsl.joins.options import Join, TableJoinOptions
from headrace.dsl.tables.handle import TableHandle
from headrace.dsl.type_variables import V2, Foreign, K, Other, V
from headrace.model.routing import StreamPartitioner
from headrace.model.stores.specs import TableStore
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
        """Joins the matching rows of both tables: a row of the result is `joiner(value, other_value)`.

        Rows match if they have the same key. With a `foreign_key`, a row matches the row of the other table that has
        the key `foreign_key(key, value)`. The result has the keys of this table, and is updated when a row of either
        table changes. If a row is deleted or loses its match, its result is deleted.

        A result has the higher timestamp of the two rows. With a `foreign_key` there is an exception: if a row of the
        other table changes, the results have the timestamp of that change.

        Args:
            other: the table to join with.
            joiner: `joiner(value, other_value)`, or `joiner(key, value, other_value)`; with `foreign_key`, also
                `joiner(key, foreign_key, value, other_value)`. If it returns `None`, the result is deleted.
            foreign_key: `foreign_key(key, value)` returns the key of the matching row of the other table. A row for
                which it returns `None` has no match: it is dropped and counted, except in `left_join`.
            partitioner: only with `foreign_key`: the function `(topic, key, None, partitions) -> partition` by which
                the topic of this table is partitioned. Default: Kafka's rule, a hash of the serialized key.
            other_partitioner: only with `foreign_key`: the same for the topic of the other table.
            store: a name for a store of the result, so that you can query it; or a store spec, e.g.
                `Stores.versioned_key_value(...)`. Default: the result is not stored unless an operator needs it.
            value_serde: serde of the result's values. Default: the serde of this table's values if the joiner is
                annotated to return the type that it writes; else the setting `default_value_serde`.
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
        """Joins as `join` does, with a result for every row of this table: `joiner(value, None)` if it has no match.

        Such a result has the timestamp of the row, or of the deletion of its match if that is later. With a
        `foreign_key`, the deletion gives its own timestamp, even if that is earlier. The arguments are those of `join`.

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
        """Joins by key, with a result for every row of either table: the value of a missing row is `None`.

        The arguments are those of `join`, without a foreign key.

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
