"""Records without a key before a left join: they are results too, so the repartitions on their way let them pass."""

from __future__ import annotations

from dataclasses import replace

from headrace._graph.graph import GraphBuilder
from headrace._graph.nodes import NullKeyFilter


def keep_null_keys(graph: GraphBuilder, name: str) -> None:
    """Lets records without a key reach this node through all repartitions before it."""
    waiting, seen = [name], {name}
    while waiting:
        node = graph.node(waiting.pop())
        if isinstance(node, NullKeyFilter):
            graph.replace(replace(node, keeps_null_keys=True))
        before = graph.before(node)
        waiting += [parent for parent in before if parent not in seen]
        seen.update(before)
