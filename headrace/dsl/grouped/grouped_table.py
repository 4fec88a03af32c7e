"""`KGroupedTable`: the rows of a table grouped by another key, to be aggregated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from headrace._graph.nodes import Sink, Source, TableAggregate, TableCount, TableReduce
from headrace.dsl.grouped.handle import GroupedHandle
from headrace.dsl.ktable import KTable
from headrace.dsl.type_variables import A, K
from headrace.model.arguments import checked_callable
from headrace.model.stores.specs import TableStore
from headrace.serdes import Long, Serde
from headrace.serdes.inferred import serde_of_results
from headrace.serdes.wrapping.change import ChangeEvent

V = TypeVar("V")


class KGroupedTable(GroupedHandle, Generic[K, V]):
    """The rows of a table, grouped by another key, to be aggregated.

    An aggregate always reflects the current rows of its group. When a row changes, its old value is removed from the
    aggregate, then its new value is added. If the row stays in its group, that emits one result; if it moves, each of
    the two groups emits one. A result has the highest timestamp of all changes since the group's row was created.
    """

    def count(self, *, store: TableStore | None = None, name: str | None = None) -> KTable[K, int]:
        """Counts the rows of each group. A group that has become empty has the count 0; its row is not deleted.

        Args:
            store: a name for the state store, so that you can query it, and so that its state is found again after
                changes of the topology. Or a store spec: `Stores.timestamped_key_value(...)`, or
                `Stores.versioned_key_value(...)` to keep earlier versions. Default: a generated name.
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
        return self._aggregate("count", "KTABLE-AGGREGATE-", TableCount, store, Long(), name)

    def reduce(
        self,
        adder: Callable[[V, V], V | None],
        subtractor: Callable[[V, V], V | None],
        *,
        store: TableStore | None = None,
        value_serde: Serde[V] | None = None,
        name: str | None = None,
    ) -> KTable[K, V]:
        """Reduces the values of each group to one.

        The first value of a group is its first aggregate. If a function returns `None`, the group's row is deleted, and
        the next value starts over as the first one.

        Args:
            adder: `adder(aggregate, value)` returns the aggregate with a value added.
            subtractor: `subtractor(aggregate, value)` returns the aggregate with an old value removed.
            store: as in `count`.
            value_serde: serde of the aggregates; default: the serde of the grouped values.
            name: name of the operator.

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
        make = partial(TableReduce, adder=adder, subtractor=subtractor)
        serde = value_serde or self._value_serde
        return self._aggregate("reduce", "KTABLE-REDUCE-", make, store, serde, name)

    def aggregate(
        self,
        initializer: Callable[[], A],
        adder: Callable[[K, V, A], A | None],
        subtractor: Callable[[K, V, A], A | None],
        *,
        store: TableStore | None = None,
        value_serde: Serde[A] | None = None,
        name: str | None = None,
    ) -> KTable[K, A]:
        """Aggregates the values of each group, starting from `initializer()`.

        If a function returns `None`, the group's row is deleted, and the next value starts from `initializer()` again.
        The functions may change `aggregate` in place: it is a copy from the store.

        Args:
            initializer: returns the aggregate of a new group, e.g. `list`.
            adder: `adder(group, value, aggregate)` returns the aggregate with a value added.
            subtractor: `subtractor(group, value, aggregate)` returns the aggregate with an old value removed.
            store: as in `count`.
            value_serde: serde of the aggregates. Default: the setting `default_value_serde`. If that is JSON without a
                type, aggregates are read back as the type of the initializer: its own if it is a class, or its
                annotated return type.
            name: name of the operator.

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
        make = partial(TableAggregate, initializer=initializer, adder=adder, subtractor=subtractor)
        serde = value_serde or serde_of_results(initializer)
        return self._aggregate("aggregate", "KTABLE-AGGREGATE-", make, store, serde, name)

    def _name_and_parent(self, prefix: str, name: str | None, store_name: str) -> tuple[str, str]:
        source = self._repartition(store_name, name)
        return self._graph.names.node(name, prefix), source

    def _repartition(self, store_name: str, name: str | None) -> str:
        """Repartitions the events by group; returns the source. Aggregations share a repartition with a name."""
        sink_name = self._graph.names.node(None if name is None else f"{name}-sink", "KSTREAM-SINK-")
        source_name = self._graph.names.node(None if name is None else f"{name}-source", "KSTREAM-SOURCE-")
        if self._name is not None and self._repartitioned is not None:
            return self._repartitioned
        topic = f"{self._name or store_name}-repartition"
        serdes: dict[str, Any] = {"key_serde": self._key_serde, "value_serde": ChangeEvent(self._value_serde)}
        self._graph.add(Sink(name=sink_name, parents=(self._node,), topic=topic, internal=True, **serdes))
        self._graph.add(Source(name=source_name, topics=(topic,), internal=True, **serdes))
        self._repartitioned = source_name
        return source_name
