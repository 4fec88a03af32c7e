"""`KTable`: the latest value of every key, as a stream of changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from headrace._graph.nodes import TableFilter, TableGroupBy, TableMapValues, TableToStream
from headrace._graph.tables.old_values import send_old_values
from headrace.dsl.handle import NodeOutput
from headrace.dsl.kstream import KStream
from headrace.dsl.tables.joining import TableJoins
from headrace.dsl.tables.suppressing import TableSuppression
from headrace.dsl.tables.transforming import TableTransformation
from headrace.dsl.type_variables import K2, V2, K, V
from headrace.errors import TopologyError
from headrace.model.arguments import checked_callable
from headrace.model.stores.specs import TableStore
from headrace.serdes import Serde
from headrace.serdes.inferred import serde_of_results

if TYPE_CHECKING:
    from headrace.dsl.grouped.grouped_table import KGroupedTable


class KTable(TableJoins[K, V], TableSuppression[K, V], TableTransformation[K, V]):
    """A table: one row per key, changing over time. A change to `None` deletes the row.

    Tables come from `builder.table()`, `stream.to_table()` and aggregations. An operator's result has the timestamp of
    the change it comes from, unless the operator says otherwise. A table stores its rows if you name a store, or if an
    operator downstream needs them.

    Joins, `suppress` and `transform_values` are defined in `headrace/dsl/tables`.

    Example:
        >>> from headrace.testing import run_table
        >>> def german(countries):
        ...     return countries.filter(lambda city, country: country == "DE").map_values(str.lower)
        >>> run_table(german, ("Berlin", "DE", 10), ("Berlin", None, 12))
        [Record(key='Berlin', value='de', timestamp_ms=10), Record(key='Berlin', value=None, timestamp_ms=12)]
    """

    def filter(
        self, predicate: Callable[[K, V], object], *, store: TableStore | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """Keeps the rows for which `predicate(key, value)` is true; the result does not have the other rows.

        A changed row that is not kept is emitted as a deletion, with the value `None`. If old values are known, because
        this table stores its rows, there is no such deletion for a row that was not in the result before; a versioned
        table emits it all the same. The predicate is not called for deleted rows.

        Args:
            predicate: decides which rows to keep.
            store: a name for a store of the result, so that you can query it; or a store spec, e.g.
                `Stores.versioned_key_value(...)`. Default: the result is not stored unless an operator needs it.
            name: name of the operator.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import run_table
            >>> run_table(lambda table: table.filter(lambda key, value: value > 1), ("a", 2, 1), ("a", 1, 2))
            [Record(key='a', value=2, timestamp_ms=1), Record(key='a', value=None, timestamp_ms=2)]
        """
        checked_callable(predicate, "filter", "predicate(key, value)")
        return self._filter("filter", predicate, store, name, keep=True)

    def filter_not(
        self, predicate: Callable[[K, V], object], *, store: TableStore | None = None, name: str | None = None
    ) -> KTable[K, V]:
        """Drops the rows for which `predicate(key, value)` is true; otherwise the same as `filter`.

        Example:
            >>> from headrace.testing import run_table
            >>> run_table(lambda table: table.filter_not(lambda key, value: value > 1), ("a", 1, 5))
            [Record(key='a', value=1, timestamp_ms=5)]
        """
        checked_callable(predicate, "filter_not", "predicate(key, value)")
        return self._filter("filter_not", predicate, store, name, keep=False)

    def map_values(
        self,
        mapper: Callable[[V], V2 | None],
        *,
        store: TableStore | None = None,
        value_serde: Serde[V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """Replaces the value of each row with `mapper(value)`. If the mapper returns `None`, the row is deleted.

        The mapper is not called for deleted rows.

        Args:
            mapper: returns the new value.
            store: a name for a store of the result, so that you can query it; or a store spec, e.g.
                `Stores.versioned_key_value(...)`. Default: the result is not stored unless an operator needs it.
            value_serde: serde of the new values. Default: the serde of this table's values if it writes the type that
                the mapper returns, known from its annotation or because it is a method such as `str.upper`; else the
                setting `default_value_serde`.
            name: name of the operator.

        Example:
            >>> from headrace.testing import run_table
            >>> run_table(lambda table: table.map_values(str.upper), ("a", "x", 1), ("a", None, 2))
            [Record(key='a', value='X', timestamp_ms=1), Record(key='a', value=None, timestamp_ms=2)]
        """
        checked_callable(mapper, "map_values", "mapper(value)")
        serde = value_serde or serde_of_results(mapper, self._value_serde)
        return self._map_values("map_values", _without_key(mapper), store, serde, name)

    def map_values_with_key(
        self,
        mapper: Callable[[K, V], V2 | None],
        *,
        store: TableStore | None = None,
        value_serde: Serde[V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """Replaces the value of each row with `mapper(key, value)`; otherwise the same as `map_values`.

        Example:
            >>> from headrace.testing import run_table
            >>> run_table(lambda table: table.map_values_with_key(lambda key, value: f"{key}={value}"), ("a", 7, 1))
            [Record(key='a', value='a=7', timestamp_ms=1)]
        """
        checked_callable(mapper, "map_values_with_key", "mapper(key, value)")
        serde = value_serde or serde_of_results(mapper, self._value_serde)
        return self._map_values("map_values_with_key", mapper, store, serde, name)

    @overload
    def to_stream(self, *, name: str | None = None) -> KStream[K, V]: ...

    @overload
    def to_stream(
        self, key_mapper: Callable[[K, V], K2], *, key_serde: Serde[K2] | None = None, name: str | None = None
    ) -> KStream[K2, V]: ...

    def to_stream(
        self,
        key_mapper: Callable[[Any, Any], Any] | None = None,
        *,
        key_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KStream[Any, Any]:
        """Returns the changes of the table as a stream: each record has the key, new value and timestamp of a change.

        The value of a deletion is `None`.

        Args:
            key_mapper: `key_mapper(key, value)` returns the key of a record. It is also called for deletions, and marks
                the stream for repartitioning, as `select_key` does. Default: the key of the row.
            key_serde: serde of the new keys; only with a `key_mapper`.
            name: name of the operator.

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
        output = NodeOutput(self._graph, node.name, self._key_serde, self._value_serde)
        stream: KStream[K, V] = KStream(output, repartition_required=False)
        if key_mapper is None:
            if key_serde is not None:
                message = "to_stream() was given key_serde= without key_mapper=; only new keys need a serde."
                raise TopologyError(message)
            return stream
        checked_callable(key_mapper, "to_stream", "key_mapper(key, value)")
        return stream.select_key(key_mapper, key_serde=key_serde)

    def group_by(
        self,
        selector: Callable[[K, V], tuple[K2 | None, V2 | None] | None],
        *,
        key_serde: Serde[K2] | None = None,
        value_serde: Serde[V2] | None = None,
        name: str | None = None,
    ) -> KGroupedTable[K2, V2]:
        """Groups the rows by another key, to aggregate them: `selector(key, value)` returns `(group, value)`.

        Always repartitions. If a row changes within its group, the old and the new value are sent as one event, and the
        aggregate is updated once. If the row moves to another group, the old value first leaves the old group. Groups
        are the same if they are equal by `==`.

        Args:
            selector: returns the group of a row, and the value to aggregate. If it returns `None`, or a pair with a
                `None`, the row is in no group.
            key_serde: serde of the groups; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the grouped values; default: the setting `default_value_serde`, else `serdes.Json()`.
            name: name of the operator, and of the repartition topic, `<name>-repartition`.

        Example:
            >>> from headrace.testing import run_table
            >>> def per_country(cities):
            ...     return cities.group_by(lambda city, country: (country, city)).count()
            >>> run_table(per_country, ("Bern", "CH", 10), ("Basel", "CH", 11))
            [Record(key='CH', value=1, timestamp_ms=10), Record(key='CH', value=2, timestamp_ms=11)]
        """
        from headrace.dsl.grouped.grouped_table import KGroupedTable  # aggregations make tables

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
        return KGroupedTable(NodeOutput(self._graph, node.name, key_serde, value_serde), name=name)

    def _filter(
        self,
        operation: str,
        predicate: Callable[[K, V], object],
        store: TableStore | None,
        name: str | None,
        *,
        keep: bool,
    ) -> KTable[K, V]:
        spec = self._add_store(operation, store, self._value_serde)
        node = TableFilter(
            name=self._graph.names.node(name, "KTABLE-FILTER-"),
            parents=(self._node,),
            stores=() if spec is None else (spec.name,),
            predicate=predicate,
            keep=keep,
            send_old_values=send_old_values(self._graph, self._node, materialize=False),
            versioned=self._versioned,
        )
        return self._derive(node, self._value_serde, spec)

    def _map_values(
        self,
        operation: str,
        mapper: Callable[[K, V], V2 | None],
        store: TableStore | None,
        value_serde: Serde[Any] | None,
        name: str | None,
    ) -> KTable[K, V2]:
        spec = self._add_store(operation, store, value_serde)
        node = TableMapValues(
            name=self._graph.names.node(name, "KTABLE-MAPVALUES-"),
            parents=(self._node,),
            stores=() if spec is None else (spec.name,),
            mapper=mapper,
        )
        return self._derive(node, value_serde, spec)


def _without_key(mapper: Callable[[Any], V2]) -> Callable[[Any, Any], V2]:
    return lambda _, value: mapper(value)
