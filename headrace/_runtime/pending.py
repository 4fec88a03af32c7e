"""Which results the operators of a topology hold back, computed by the operators from committed state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from headrace._graph.graph import Graph
from headrace._graph.nodes import Node, StreamJoin, StreamTableJoin, Suppress, WindowedAggregate
from headrace._runtime.assemble import TaskBlueprint
from headrace._state.bytes.api import ByteReader, ByteStore
from headrace.errors import StateError, known_names, nearest
from headrace.model.pending import Pending, PendingTask


def nodes_holding_results(graph: Graph, name: str | None) -> tuple[Node, ...]:
    """The nodes that hold results back; with a name, only the node of that name or with that store.

    Raises:
        StateError: if no such node has that name or store.
    """
    holding = tuple(node for node in graph.nodes if _holds_back(node))
    if name is None:
        return holding
    chosen = tuple(node for node in holding if name in _names(node))
    if chosen:
        return chosen
    stores = [_names(node)[1] for node in holding]
    known = f"Stores that hold results back: {known_names(stores)}." if stores else "This topology has none of them."
    problem = (
        "holds no results back"
        if name in graph.stores or name in graph.by_name
        else "is neither a store nor an operator"
    )
    message = (
        f"{name!r} {problem}.{nearest(name, stores)} Results are held back by suppress(...), by windows with "
        f"EmitStrategy.on_window_close(), and by joins whose records wait. {known}"
    )
    raise StateError(message)


def pending_results(node: Node, tasks: tuple[PendingTask, ...]) -> Pending:
    """What a node holds back in all its tasks, as the object that users get."""
    return Pending(*_names(node), tasks, "record" if isinstance(node, StreamJoin | StreamTableJoin) else "row")


def pending_in_task(
    blueprint: TaskBlueprint, node: Node, partition: int, stores: Mapping[str, ByteReader]
) -> PendingTask:
    """What a node holds back in the task of one partition, read from the stores of that task."""
    operator = blueprint.operator_on(node.name, partition, cast("Mapping[str, ByteStore]", stores))
    task = operator.pending()
    assert task is not None
    return task


def _holds_back(node: Node) -> bool:
    """Whether a node holds results back. A stream join has one store for both sides: its left side reports it."""
    match node:
        case StreamJoin():
            return node.unmatched is not None and node.is_left
        case WindowedAggregate():
            return node.emit_on_close
        case StreamTableJoin():
            return node.grace_ms is not None
    return isinstance(node, Suppress)


def _names(node: Node) -> tuple[str, str]:
    """The name of the operator, and of the store that holds its pending results."""
    if isinstance(node, StreamJoin):
        assert node.unmatched is not None
        return node.join, node.unmatched
    return node.name, node.stores[0]
