"""`GlobalKTable`: a table of which every task has all rows."""

from __future__ import annotations

from typing import Generic, TypeVar

from headrace._graph.graph import GraphBuilder

K = TypeVar("K")
V = TypeVar("V")


class GlobalKTable(Generic[K, V]):
    """A table that every task has whole, so that streams join it by any key, without repartitioning.

    Made by `builder.global_table()`, joined by `stream.join(table, joiner, key_selector=...)` and `left_join`. Its
    changes are not a stream: they make no results, they are there for the records that come after them.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import TopologyTestDriver
        >>> builder = hr.StreamsBuilder()
        >>> pages = builder.global_table("pages", store="pages")
        >>> clicks = builder.stream("clicks")
        >>> clicks.join(pages, lambda click, page: page["title"], key_selector=lambda user, click: click).to("seen")
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("pages").pipe("/", {"title": "Home"}, timestamp_ms=50)
        ...     driver.input_topic("clicks").pipe("ann", "/", timestamp_ms=7)
        ...     driver.output_topic("seen").read_all()
        [Record(key='ann', value='Home', timestamp_ms=7)]
    """

    def __init__(self, graph: GraphBuilder, store: str) -> None:
        self._graph = graph
        self._store = store

    def __repr__(self) -> str:
        return f"<GlobalKTable {self._store}>"
