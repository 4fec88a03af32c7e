"""Transforming the rows of a table by code with state of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from headrace._graph.checks import checked_factory
from headrace._graph.declared_stores import own_stores
from headrace._graph.nodes import TableTransformValues
from headrace._graph.stores import StoreSpec, TableStore, TimestampedKeyValueSpec, VersionedSpec
from headrace._graph.tables.rows import materialize_rows
from headrace.dsl.tables.handle import TableHandle
from headrace.dsl.type_variables import V2, K, V
from headrace.model.processor import ValueTransformerWithKey
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable


class TableTransformation(TableHandle[K, V]):
    """`KTable.transform_values`."""

    def transform_values(
        self,
        factory: Callable[[], ValueTransformerWithKey[K, V, V2]],
        *,
        stores: Iterable[StoreSpec | str] = (),
        store: TableStore | None = None,
        value_serde: Serde[V2] | None = None,
        name: str | None = None,
    ) -> KTable[K, V2]:
        """Replaces the value of each row by what a transformer with stores of its own returns; `None` deletes the row.

        The transformer is called for every change, also for deletions, unlike that of `map_values`. Changes keep their
        timestamps. If an operator downstream needs the old value of a change (`group_by`, for instance), the old value
        is read from `store`; without a `store` the transformer is called again, with the old value of the row before.
        So name a store if the transformer has state. A table that is joined stores its rows in any case.

        Args:
            factory: creates a new transformer for every task: a `ValueTransformerWithKey` class, or a function without
                arguments.
            stores: the stores that the transformer may use: specs, as `Stores` returns them, or names of stores that
                exist already.
            store: names a store for the result, to query it; or its spec, e.g. `Stores.versioned_key_value(...)`.
            value_serde: serde of the new values.
            name: name of the operator.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import run_table
            >>> class OrNothing(hr.ValueTransformerWithKey[str, str, str]):
            ...     def transform(self, key: str, value: str | None) -> str | None:
            ...         return value or f"no {key}"
            >>> run_table(lambda table: table.transform_values(OrNothing), ("tea", "Assam", 1), ("tea", None, 2))
            [Record(key='tea', value='Assam', timestamp_ms=1), Record(key='tea', value='no tea', timestamp_ms=2)]
        """
        checked_factory(factory, "transform_values()")
        node_name = self._graph.names.node(name, "KTABLE-TRANSFORMVALUES-")
        spec = self._add_store("transform_values", store, value_serde)
        node = TableTransformValues(
            name=node_name,
            parents=(self._node,),
            stores=() if spec is None else (spec.name,),
            factory=factory,
            fixed_key=True,
            rows=None if spec is None else spec.name,
            store_when_needed=self._rows_when_needed(f"{node_name}-rows", value_serde),
        )
        self._graph.add(node)
        self._graph.connect_own(node_name, stores, own_stores(factory, "transform_values()"))
        return self._table(node_name, value_serde, spec, versioned=self._versioned)

    def _rows_when_needed(self, name: str, value_serde: Serde[Any] | None) -> StoreSpec:
        """The store of the result if an operator downstream looks up its rows; versioned if this table is."""
        serdes: dict[str, Any] = {"key_serde": self._key_serde, "value_serde": value_serde}
        if self._versioned:
            before = self._graph.store(materialize_rows(self._graph, self._node)[0])
            if isinstance(before, VersionedSpec):
                return VersionedSpec(name=name, history_ms=before.history_ms, **serdes)
        return TimestampedKeyValueSpec(name=name, **serdes)
