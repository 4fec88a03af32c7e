"""Finds the rows of a table in the stores of a task, for joins that look them up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace._core import rows
from headrace._core.operators.tables.functions import row_filter
from headrace._graph import nodes
from headrace._graph.graph import Graph
from headrace._state.stores.session import TypedSessionStore
from headrace._state.stores.versioned import TypedVersionedStore
from headrace._state.stores.window import TypedTimestampedWindowStore
from headrace.model.stores.specs import StoreSpec


def rows_of(graph: Graph, copies: Mapping[str, StoreSpec], table: str, stores: Mapping[str, Any]) -> Any:
    """Returns the rows of a table: those in its store or, if it has none, rows derived from its parent tables.

    `stores` are all stores of the task. A table whose store belongs to another stage has a copy there, and `copies` has
    the specification of that copy, by the name of the table.
    """
    if table in copies:
        return _rows_in(stores[copies[table].name])
    node = graph.by_name[table]

    def parent_rows(name: str) -> Any:
        return rows_of(graph, copies, name, stores)

    match node:
        case nodes.Suppress():
            return rows.SuppressedRows(stores[node.stores[0]], parent_rows(node.parents[0]))
        case nodes.Node(stores=(store, *_)):
            return _rows_in(stores[store])
        case nodes.TableFilter():
            return rows.DerivedRows(parent_rows(node.parents[0]), row_filter(node.predicate, keep=node.keep))
        case nodes.TableMapValues():
            return rows.DerivedRows(parent_rows(node.parents[0]), node.mapper)
        case nodes.CogroupMerge():
            return parent_rows(node.parents[0])
        case nodes.TableJoinMerge():
            return rows.JoinedRows(
                parent_rows(node.left),
                parent_rows(node.right),
                node.joiner,
                left_optional=node.left_optional,
                right_optional=node.right_optional,
            )
    message = f"{table} has no rows to look up."
    raise AssertionError(message)


def _rows_in(store: Any) -> Any:
    if isinstance(store, TypedTimestampedWindowStore):
        return rows.WindowRows(store)
    if isinstance(store, TypedVersionedStore):
        return rows.VersionedRows(store)
    return rows.SessionRows(store) if isinstance(store, TypedSessionStore) else store
