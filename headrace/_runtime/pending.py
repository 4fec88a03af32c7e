"""What the operators of a topology hold back, asked of the operators themselves on committed state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, StreamJoin, StreamTableJoin, Suppress, WindowedAggregate
from headrace._runtime.assemble import TaskBlueprint
from headrace._state.bytes.api import ByteReader, ByteStore
from headrace.errors import StateError, known_names, nearest
from headrace.model.pending import Pending, PendingTask


def holding(graph: Graph, name: str | None) -> tuple[Node, ...]:
    """The nodes that hold results back; only the one of that name or with that store, if a name is given.

    Raises:
        StateError: if none is called so.
    """
    found = tuple(node for node in graph.nodes if _holds_back(node))
    if name is None:
        return found
    chosen = tuple(node for node in found if name in _names(node))
    if chosen:
        return chosen
    stores = [_names(node)[1] for node in found]
    known = f"Stores whose results wait: {known_names(stores)}." if stores else "Nothing in this topology does."
    what = (
        "holds nothing back" if name in graph.stores or name in graph.by_name else "is neither a store nor an operator"
    )
    message = (
        f"{name!r} {what}.{nearest(name, stores)} Results are held back by suppress(...), by windows with "
        f"EmitStrategy.on_window_close(), and by joins whose records wait. {known}"
    )
    raise StateError(message)


def pending(node: Node, tasks: tuple[PendingTask, ...]) -> Pending:
    return Pending(*_names(node), tasks, "record" if isinstance(node, StreamJoin) else "row")


def pending_in_task(
    blueprint: TaskBlueprint, node: Node, partition: int, stores: Mapping[str, ByteReader]
) -> PendingTask:
    """What a node holds back in the task of one partition, which has these stores."""
    operator = blueprint.operator_on(node.name, partition, cast("Mapping[str, ByteStore]", stores))
    told = operator.pending()
    assert told is not None
    return told


def _holds_back(node: Node) -> bool:
    """Whether it does; of a join, one side tells it for both."""
    match node:
        case StreamJoin():
            return node.unmatched is not None and node.is_left
        case WindowedAggregate():
            return node.emit_on_close
        case StreamTableJoin():
            return node.grace_ms is not None
    return isinstance(node, Suppress)


def _names(node: Node) -> tuple[str, str]:
    """What the operator is called, and the store of what waits."""
    if isinstance(node, StreamJoin):
        assert node.unmatched is not None
        return node.join, node.unmatched
    return node.name, node.stores[0]
