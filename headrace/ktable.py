"""`KTable`: the newest value of every key, as a stream of changes."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import TableToStream
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")


class KTable(Generic[K, V]):
    """A table: one row per key, changing over time. Made by an aggregation."""

    def __init__(
        self,
        graph: GraphBuilder,
        node: str,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
        *,
        store: str,
    ) -> None:
        self._graph = graph
        self._node = node
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._store = store

    def to_stream(self, *, name: str | None = None) -> KStream[K, V]:
        """Every change as a record: the key, the new value (`None` for a deleted row), the row's timestamp.

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
        return KStream(self._graph, node.name, self._key_serde, self._value_serde, repartition_required=False)

    def __repr__(self) -> str:
        return f"<KTable {self._node}>"


from headrace.kstream import KStream  # noqa: E402  a stream makes tables, and a table streams
