"""The part of `KTable` that every operator uses: its node in the graph, its serdes, and how to derive a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import Node
from headrace._graph.tables.materialized import table_store_spec
from headrace.serdes import Serde

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable

# Values are covariant, because no operator changes a table: a `KTable[str, bool]` is a `KTable[str, int]`. Keys are
# not, so that a join of tables with different types of keys is an error.
K = TypeVar("K")
V = TypeVar("V", covariant=True)


class TableHandle(Generic[K, V]):
    """A node of the graph that emits the changes of a table, with the serdes of its rows as far as they are known."""

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

    def _add_store(self, operation: str, store: str | None, value_serde: Serde[Any] | None) -> tuple[str, ...]:
        if store is None:
            return ()
        return (self._graph.add_store(table_store_spec(store, operation, self._key_serde, value_serde)).name,)

    def _derive(self, node: Node, value_serde: Serde[Any] | None) -> KTable[Any, Any]:
        """Adds a node; the table stays versioned unless the node has a store of its own."""
        self._graph.add(node)
        return self._table(node.name, value_serde, versioned=self._versioned and not node.stores)

    def _table(self, node: str, value_serde: Serde[Any] | None, *, versioned: bool = False) -> KTable[Any, Any]:
        # The class is not imported by its name: it inherits from this one.
        table = type(self)(self._graph, node, self._key_serde, value_serde, versioned=versioned)
        return cast("KTable[Any, Any]", table)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._node}>"
