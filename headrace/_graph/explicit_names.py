"""Raises an error for generated names of stores and repartitions, which change with the topology (KIP-1111)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from headrace._graph.graph import Graph
from headrace._graph.nodes import Sink
from headrace.errors import TopologyError

_GENERATED = re.compile(r"(^|-)[A-Z]+(-[A-Z]+)*-\d{10}(-|$)")


def refuse_generated_names(graph: Graph) -> None:
    """Raises a `TopologyError` that lists the stores and repartitions that the user has not named."""
    stores = _generated(graph.stores)
    topics = _generated(node.topic for node in graph.nodes if isinstance(node, Sink) and node.internal)
    if stores or topics:
        listed = [f"store {name!r}" for name in stores] + [f"repartition {name!r}" for name in topics]
        message = (
            "ensure_explicit_internal_resource_naming is set, but some stores and repartitions have generated names, "
            "which change when operators are added or removed:\n  - "
            + "\n  - ".join(listed)
            + "\nName stores with store=, repartitions with name= of group_by(), repartition() or the join."
        )
        raise TopologyError(message)


def _generated(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(name for name in names if _GENERATED.search(name)))
