"""Decides which foreign-key joins must look up rows of their left table, or know which of them an input record changes.

"Joins" in docs/architecture.md says why.
"""

from __future__ import annotations

from headrace._graph.describing.levels import writers
from headrace._graph.graph import Graph
from headrace._graph.nodes import (
    ForeignKeyResolve,
    Source,
    TableFilter,
    TableJoinMerge,
    TableMapValues,
    TableSource,
)
from headrace._graph.tables.rows import computed_from


def answers_may_be_stale(graph: Graph, resolve: ForeignKeyResolve) -> bool:
    """Whether an answer may be stale: whether one input record may change a left row twice, or rows of both tables.

    It cannot if the left table is read from user topics, and the right table does not depend on these topics.
    """
    node = graph.by_name[resolve.left_table]
    while isinstance(node, TableFilter | TableMapValues | TableSource):
        node = graph.by_name[node.parents[0]]
    if not isinstance(node, Source) or node.internal:
        return True
    return bool(set(node.topics) & _topics_before(graph, resolve.right_table))


def subscriptions_may_be_stale(graph: Graph, resolve: ForeignKeyResolve) -> bool:
    """Whether a left row may stay subscribed to a foreign key that it no longer has.

    That may happen if the left table is a join of a table with itself: one input record changes both of its sides, and
    causes two changes. The old value of such a change may be joined from an old row of one side and a new row of the
    other. It was never in the table, so its foreign key, from which the row is then unsubscribed, may be a wrong one.
    """
    return _is_joined_with_itself(graph, resolve.left_table)


def _is_joined_with_itself(graph: Graph, table: str) -> bool:
    node = graph.by_name[table]
    if not isinstance(node, TableJoinMerge):
        return any(_is_joined_with_itself(graph, name) for name in computed_from(node))
    sides = (node.left, node.right)
    left, right = (_topics_before(graph, side) for side in sides)
    return bool(left & right) or any(_is_joined_with_itself(graph, side) for side in sides)


def _topics_before(graph: Graph, name: str) -> set[str]:
    """All topics, user topics and repartitions, that the records of a node come from."""
    written = writers(graph)
    topics: set[str] = set()
    seen: set[str] = set()
    pending = [name]
    while pending:
        node = graph.by_name[pending.pop()]
        if node.name not in seen:
            seen.add(node.name)
            pending += node.parents
            if isinstance(node, Source):
                topics.update(node.topics)
                pending += [sink for topic in node.topics for sink in written.get(topic, ())]
    return topics
