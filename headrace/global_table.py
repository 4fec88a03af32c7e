"""`GlobalKTable`: a table of which every task has all rows."""

from __future__ import annotations

from typing import Generic, TypeVar

from headrace._graph.graph import GraphBuilder

K = TypeVar("K")
V = TypeVar("V")


class GlobalKTable(Generic[K, V]):
    """A table that every task has whole, so that streams join it by any key, without repartitioning.

    Made by `builder.global_table()`; joined by `stream.join(table, joiner, key_selector=...)`.
    """

    def __init__(self, graph: GraphBuilder, store: str) -> None:
        self._graph = graph
        self._store = store

    def __repr__(self) -> str:
        return f"<GlobalKTable {self._store}>"
