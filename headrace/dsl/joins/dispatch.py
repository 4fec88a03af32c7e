"""Selects the kind of join by the types of its two sides."""

from __future__ import annotations

from typing import Any

from headrace.dsl.joins.foreign_key import join_by_foreign_key
from headrace.dsl.joins.options import Join
from headrace.dsl.joins.stream_global import join_stream_global
from headrace.dsl.joins.stream_stream import join_streams
from headrace.dsl.joins.stream_table import join_stream_table
from headrace.dsl.joins.table_table import join_tables
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.tables.global_table import GlobalKTable
from headrace.errors import TopologyError


def join_stream(stream: KStream[Any, Any], other: object, join: Join) -> KStream[Any, Any]:
    """Joins a stream with a stream, a table or a global table."""
    match other:
        case KStream():
            _check_builder(stream, other, join)
            return join_streams(stream, other, join)
        case KTable() if not join.right:
            _check_builder(stream, other, join)
            return join_stream_table(stream, other, join)
        case GlobalKTable() if not join.right:
            _check_builder(stream, other, join)
            return join_stream_global(stream, other, join)
    allowed = "a KStream" if join.right else "a KStream, a KTable or a GlobalKTable"
    message = (
        f"{join.operation}() of {stream!r} was given {other!r} of type {type(other).__name__}; allowed: {allowed}."
    )
    raise TopologyError(message)


def join_table(table: KTable[Any, Any], other: object, join: Join) -> KTable[Any, Any]:
    """Joins a table with another one, by key or by foreign key."""
    if not isinstance(other, KTable):
        message = (
            f"{join.operation}() of {table!r} was given {other!r} of type {type(other).__name__}; allowed: a KTable. "
            "A stream is joined with a table from its own side: stream.join(table, joiner)."
        )
        raise TopologyError(message)
    _check_builder(table, other, join)
    return (join_by_foreign_key if "foreign_key" in join.options else join_tables)(table, other, join)


def _check_builder(this: Any, other: Any, join: Join) -> None:
    if this._graph is not other._graph:
        message = f"{join.operation}() of {this!r} was given {other!r} of another StreamsBuilder; both must be of one."
        raise TopologyError(message)
