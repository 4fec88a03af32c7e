"""`KGroupedTable`: the rows of a table grouped by another key, waiting to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from headrace._graph.checks import checked_callable
from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import Node, Sink, Source, TableAggregate, TableCount, TableReduce
from headrace._graph.stores import TimestampedKeyValueSpec
from headrace.dsl.ktable import KTable
from headrace.serdes import Change, Long, Serde

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class KGroupedTable(Generic[K, V]):
    """The rows of a table by group. Aggregates always hold what the table's current rows give.

    A changed row is first subtracted as it was and then added as it is: in one step, with one result, if it stayed in
    its group. Results carry the highest timestamp of all changes folded in since the group's aggregate last became
    non-null.
    """

    def __init__(
        self,
        graph: GraphBuilder,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        *,
        name: str | None,
    ) -> None:
        self._graph = graph
        self._node = node
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._name = name
        self._repartitioned: str | None = None

    def count(self, *, store: str | None = None, name: str | None = None) -> KTable[K, int]:
        """How many rows each group has. A group that ran empty has 0.

        Args:
            store: name of the state store; name it to query it and to keep it stable when the topology changes.
            name: name of the operator.

        Example:
            >>> from headrace.testing import run_table
            >>> def per_city(users):
            ...     return users.group_by(lambda name, city: (city, name)).count()
            >>> run_table(per_city, ("ann", "Bern", 1), ("bob", "Bern", 2), ("ann", "Basel", 3))
            ... # doctest: +NORMALIZE_WHITESPACE
            [Record(key='Bern', value=1, timestamp_ms=1), Record(key='Bern', value=2, timestamp_ms=2),
             Record(key='Bern', value=1, timestamp_ms=3), Record(key='Basel', value=1, timestamp_ms=3)]
        """
        return self._aggregated(
            "KTABLE-AGGREGATE-",
            store,
            name,
            Long(),
            lambda node: TableCount(**node),
        )

    def reduce(
        self,
        adder: Callable[[V, V], V],
        subtractor: Callable[[V, V], V],
        *,
        store: str | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """One value per group: the first value, then `adder(aggregate, value)`; `subtractor` takes a value out again.

        A function that answers `None` deletes the group's row; the next value starts anew.

        Example:
            >>> from operator import add, sub
            >>> from headrace.testing import run_table
            >>> def in_total(orders):
            ...     return orders.group_by(lambda order, amount: ("all", amount)).reduce(add, sub)
            >>> run_table(in_total, ("o1", 5, 1), ("o2", 7, 2), ("o1", 6, 3))
            ... # doctest: +NORMALIZE_WHITESPACE
            [Record(key='all', value=5, timestamp_ms=1), Record(key='all', value=12, timestamp_ms=2),
             Record(key='all', value=13, timestamp_ms=3)]
        """
        checked_callable(adder, "reduce", "adder(aggregate, value)")
        checked_callable(subtractor, "reduce", "subtractor(aggregate, value)")
        return self._aggregated(
            "KTABLE-REDUCE-",
            store,
            name,
            value_serde or self._value_serde,
            lambda node: TableReduce(**node, adder=adder, subtractor=subtractor),
        )

    def aggregate(
        self,
        initializer: Callable[[], A],
        adder: Callable[[K, V, A], A],
        subtractor: Callable[[K, V, A], A],
        *,
        store: str | None = None,
        value_serde: Serde[Any] | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """One aggregate per group: `adder(group, value, aggregate)` from `initializer()`, `subtractor` takes back.

        A function that answers `None` deletes the group's row; the next value starts from `initializer()`. The
        aggregate may be changed in place: it is read afresh for every change.

        Example:
            >>> from headrace import serdes
            >>> from headrace.testing import run_table
            >>> def animals(zoos):
            ...     grouped = zoos.group_by(lambda zoo, animal: (zoo, animal))
            ...     add, remove = lambda _, animal, seen: seen | {animal}, lambda _, animal, seen: seen - {animal}
            ...     return grouped.aggregate(set, add, remove, value_serde=serdes.Json(set[str]))
            >>> [record.value for record in run_table(animals, ("zoo1", "tiger", 8), ("zoo1", "tiger", 9))]
            [{'tiger'}, {'tiger'}]
        """
        checked_callable(initializer, "aggregate", "initializer()")
        checked_callable(adder, "aggregate", "adder(group, value, aggregate)")
        checked_callable(subtractor, "aggregate", "subtractor(group, value, aggregate)")
        return self._aggregated(
            "KTABLE-AGGREGATE-",
            store,
            name,
            value_serde,
            lambda node: TableAggregate(**node, initializer=initializer, adder=adder, subtractor=subtractor),
        )

    def _aggregated(
        self,
        prefix: str,
        store: str | None,
        name: str | None,
        value_serde: Serde[Any] | None,
        make: Callable[[dict[str, Any]], Node],
    ) -> KTable[K, Any]:
        store_name = self._graph.names.store(store, prefix)
        source = self._repartition(store_name, name)
        node_name = self._graph.names.node(name, prefix)
        self._graph.add_store(
            TimestampedKeyValueSpec(name=store_name, key_serde=self._key_serde, value_serde=value_serde)
        )
        self._graph.add(make({"name": node_name, "parents": (source,), "stores": (store_name,)}))
        return KTable(self._graph, node_name, self._key_serde, value_serde)

    def _repartition(self, store_name: str, name: str | None) -> str:
        """The source of the events by group; a named one is shared by several aggregations."""
        sink_name = self._graph.names.node(None if name is None else f"{name}-sink", "KSTREAM-SINK-")
        source_name = self._graph.names.node(None if name is None else f"{name}-source", "KSTREAM-SOURCE-")
        if self._name is not None and self._repartitioned is not None:
            return self._repartitioned
        topic = f"{self._name or store_name}-repartition"
        serdes: dict[str, Any] = {"key_serde": self._key_serde, "value_serde": Change(self._value_serde)}
        self._graph.add(Sink(name=sink_name, parents=(self._node,), topic=topic, internal=True, **serdes))
        self._graph.add(Source(name=source_name, topics=(topic,), internal=True, **serdes))
        self._repartitioned = source_name
        return source_name

    def __repr__(self) -> str:
        return f"<KGroupedTable {self._node}>"
