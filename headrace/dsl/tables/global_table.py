"""`GlobalKTable`: a table with all its rows in every task."""

from __future__ import annotations

from typing import Generic

from headrace._graph.graph import GraphBuilder
from headrace.dsl.type_variables import K, V


class GlobalKTable(Generic[K, V]):
    """A table with all its rows in every task, so that streams can join it by any key, without repartitioning.

    `StreamsBuilder.global_table()` creates one. Join a stream with it by `stream.join(table, joiner, key_selector=...)`
    or `left_join`. A change of the table produces no results: it only affects records that are processed after it.

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

    def __init__(self, graph: GraphBuilder, store: str, *, queryable: bool) -> None:
        self._graph = graph
        self._store = store
        self._queryable = queryable

    @property
    def queryable_store_name(self) -> str | None:
        """The name of the table's store if you named one with `store=`, else `None`."""
        return self._store if self._queryable else None

    def __repr__(self) -> str:
        return f"<GlobalKTable {self._store}>"
