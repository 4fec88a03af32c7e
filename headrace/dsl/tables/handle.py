"""The part of `KTable` that every operator uses: the store of its rows, and how to derive a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, cast

from headrace._graph.nodes import Node
from headrace._graph.tables.materialized import table_store_spec
from headrace.dsl.handle import Handle, NodeOutput
from headrace.dsl.type_variables import K, V
from headrace.model.stores.specs import StoreSpec, TableStore, VersionedSpec
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable


class TableHandle(Handle, Generic[K, V]):
    """A node of the graph that emits the changes of a table, with the serdes of its rows if they are known."""

    def __init__(self, output: NodeOutput, *, versioned: bool = False, queryable_store_name: str | None = None) -> None:
        super().__init__(output)
        self._versioned = versioned
        self._queryable_store_name = queryable_store_name

    @classmethod
    def _of_rows(cls, output: NodeOutput, rows: StoreSpec, *, queryable: bool) -> Self:
        """The table with its rows in a store, which can be queried if the user named it."""
        queryable_store_name = rows.name if queryable else None
        return cls(output, versioned=isinstance(rows, VersionedSpec), queryable_store_name=queryable_store_name)

    @property
    def queryable_store_name(self) -> str | None:
        """The name of the table's store if you named one with `store=`, else `None`.

        Example:
            >>> import headrace as hr
            >>> users = hr.StreamsBuilder().table("users", store="all-users")
            >>> users.queryable_store_name, users.filter(lambda key, value: True).queryable_store_name
            ('all-users', None)
        """
        return self._queryable_store_name

    def _add_store(self, operation: str, store: TableStore | None, value_serde: Serde[Any] | None) -> StoreSpec | None:
        """Adds a store for the rows of a result and returns its spec; `None` if `store` is `None`."""
        if store is None:
            return None
        return self._graph.add_store(table_store_spec(store, operation, self._key_serde, value_serde, VersionedSpec))

    def _derive(self, node: Node, value_serde: Serde[Any] | None, store: StoreSpec | None = None) -> KTable[Any, Any]:
        """Adds a node and returns its table; `store` is the spec of the store of its rows.

        If the new table has no store, it is versioned if this one is.
        """
        self._graph.add(node)
        return self._table(node.name, value_serde, store, versioned=self._versioned and not node.stores)

    def _table(
        self, node: str, value_serde: Serde[Any] | None, store: StoreSpec | None = None, *, versioned: bool = False
    ) -> KTable[Any, Any]:
        # The class is not imported by its name: it inherits from this one.
        kind = type(self)
        output = NodeOutput(self._graph, node, self._key_serde, value_serde if store is None else store.value_serde)
        table = kind(output, versioned=versioned) if store is None else kind._of_rows(output, store, queryable=True)
        return cast("KTable[Any, Any]", table)
