"""The part of `KTable` that every operator uses: its node in the graph, its serdes, and how to derive a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import Node
from headrace._graph.stores import StoreSpec, TableStore, VersionedSpec
from headrace._graph.tables.materialized import table_store_spec
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable

# Values are covariant, because no operator changes a table: a `KTable[str, bool]` is a `KTable[str, int]`. Keys are
# not, so that a join of tables with different types of keys is an error.
K = TypeVar("K")
V = TypeVar("V", covariant=True)


class TableHandle(Generic[K, V]):
    """A node of the graph that emits the changes of a table, with the serdes of its rows if they are known."""

    def __init__(
        self,
        graph: GraphBuilder,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        *,
        versioned: bool = False,
        queryable_store_name: str | None = None,
    ) -> None:
        self._graph = graph
        self._node = node
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._versioned = versioned
        self._queryable_store_name = queryable_store_name

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
        table = type(self)(
            self._graph,
            node,
            self._key_serde,
            value_serde if store is None else store.value_serde,
            versioned=versioned if store is None else isinstance(store, VersionedSpec),
            queryable_store_name=None if store is None else store.name,
        )
        return cast("KTable[Any, Any]", table)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node}>"
