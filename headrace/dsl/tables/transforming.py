"""`KTable.transform_values`: computes the rows of a table by user code that may have state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from headrace._graph.declared_stores import own_stores
from headrace._graph.nodes import TableTransformValues
from headrace._graph.tables.rows import materialize_rows
from headrace.dsl.tables.handle import TableHandle
from headrace.dsl.type_variables import V2, K, V
from headrace.model.arguments import checked_factory
from headrace.model.processor import ValueTransformerWithKey
from headrace.model.stores.specs import StoreSpec, TableStore, TimestampedKeyValueSpec, VersionedSpec
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
        """Replaces the value of each row with the value that a transformer returns; `None` deletes the row.

        The transformer may use state stores. Unlike the mapper of `map_values`, it is also called for deletions, with
        the value `None`. Changes keep their timestamps.

        Some operators downstream, such as `group_by`, also need the old result of a changed row. If the result has a
        `store`, the old result is read from it. Otherwise the transformer is called a second time for each change, with
        the old value of the input row. A transformer with state may then return another value than before, so give it a
        `store`. If the result is joined with a stream or a table, it is stored anyway.

        Args:
            factory: creates a new transformer for every task: a `ValueTransformerWithKey` class, or a function without
                arguments.
            stores: the stores that the transformer may use: specs, as `Stores` returns them, or names of stores that
                exist already.
            store: a name for a store of the result, so that you can query it; or a store spec, e.g.
                `Stores.versioned_key_value(...)`. See above for when to name one.
            value_serde: serde of the new values; default: the setting `default_value_serde`, else `serdes.Json()`.
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
        """Returns the spec of the store that the result gets if it is joined; versioned if this table is."""
        serdes: dict[str, Any] = {"key_serde": self._key_serde, "value_serde": value_serde}
        if self._versioned:
            before = self._graph.store(materialize_rows(self._graph, self._node)[0])
            if isinstance(before, VersionedSpec):
                return VersionedSpec(name=name, history_ms=before.history_ms, **serdes)
        return TimestampedKeyValueSpec(name=name, **serdes)
