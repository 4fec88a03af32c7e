"""From a table's node to its rows, on the stores of a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace._core import rows
from headrace._core.operators.tables.functions import row_filter
from headrace._graph import nodes
from headrace._graph.graph import SubTopology
from headrace._state.stores.session import SessionStore
from headrace._state.stores.window import TimestampedWindowStore


def rows_of(sub: SubTopology, table: str, stores: Mapping[str, Any]) -> Any:
    """The rows of a table of a sub-topology, or of one that is copied there."""
    if table in sub.copies:
        return _stored(stores[sub.copies[table].name])
    node = sub.by_name[table]

    def before(name: str) -> Any:
        return rows_of(sub, name, stores)

    match node:
        case nodes.Suppress():
            return rows.SuppressedRows(stores[node.stores[0]], before(node.parents[0]))
        case nodes.Node(stores=(store, *_)):
            return _stored(stores[store])
        case nodes.TableFilter():
            return rows.DerivedRows(before(node.parents[0]), row_filter(node.predicate, keep=node.keep))
        case nodes.TableMapValues():
            return rows.DerivedRows(before(node.parents[0]), node.mapper)
        case nodes.TableMerge():
            return before(node.parents[0])
        case nodes.TableJoinMerge():
            return rows.JoinedRows(
                before(node.left),
                before(node.right),
                node.joiner,
                left_optional=node.left_optional,
                right_optional=node.right_optional,
            )
    message = f"{table} has no rows to look up."
    raise AssertionError(message)


def _stored(store: Any) -> Any:
    if isinstance(store, TimestampedWindowStore):
        return rows.WindowRows(store)
    return rows.SessionRows(store) if isinstance(store, SessionStore) else store
