"""What `KGroupedStream` and `KGroupedTable` have in common: they add an aggregation and the store of its results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._graph.nodes import Node
from headrace._graph.tables.materialized import result_store_spec
from headrace.dsl.handle import Handle, NodeOutput
from headrace.dsl.ktable import KTable
from headrace.model.stores.specs import TableStore
from headrace.serdes import Serde


class GroupedHandle(Handle):
    """Records in groups. `name` is that of their repartition, which all aggregations share if it has one."""

    def __init__(self, output: NodeOutput, *, name: str | None) -> None:
        super().__init__(output)
        self._name = name
        self._repartitioned: str | None = None

    def _aggregate(
        self,
        operation: str,
        prefix: str,
        make: Callable[..., Node],
        store: TableStore | None,
        value_serde: Serde[Any] | None,
        name: str | None,
    ) -> KTable[Any, Any]:
        """Adds the node that `make(name=..., parents=..., stores=...)` returns; returns the table of its results."""
        rows = result_store_spec(self._graph, store, prefix, operation, self._key_serde, value_serde)
        node_name, parent = self._name_and_parent(prefix, name, rows.name)
        self._graph.add_store(rows)
        self._graph.add(make(name=node_name, parents=(parent,), stores=(rows.name,)))
        output = NodeOutput(self._graph, node_name, rows.key_serde, rows.value_serde)
        return KTable._of_rows(output, rows, queryable=store is not None)

    def _name_and_parent(self, prefix: str, name: str | None, store_name: str) -> tuple[str, str]:
        """Returns the name of an aggregation, and the node it reads, after a repartition if it needs one.

        The names of both are generated in the order of Kafka Streams.
        """
        raise NotImplementedError
