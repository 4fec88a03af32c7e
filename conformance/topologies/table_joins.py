"""Joins of two tables, by primary key and by foreign key."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import topology
from conformance.topologies.tables import versioned_table


@topology("table-table-join")
def inner(builder: hr.StreamsBuilder, *, stored: bool = False) -> None:
    left, right = _tables(builder)
    left.join(right, f.joined, **_store(stored)).to_stream().to("out")


@topology("table-table-left-join")
def left_join(builder: hr.StreamsBuilder, *, stored: bool = False) -> None:
    left, right = _tables(builder)
    left.left_join(right, f.joined, **_store(stored)).to_stream().to("out")


@topology("table-table-outer-join")
def outer_join(builder: hr.StreamsBuilder, *, stored: bool = False) -> None:
    left, right = _tables(builder)
    left.outer_join(right, f.joined, **_store(stored)).to_stream().to("out")


@topology("three-tables-join")
def three_tables(builder: hr.StreamsBuilder) -> None:
    left, right = _tables(builder)
    left.left_join(right, f.joined).outer_join(builder.table("third"), f.joined).to_stream().to("out")


@topology("filtered-tables-join")
def filtered_tables(builder: hr.StreamsBuilder) -> None:
    left, right = _tables(builder)
    left.filter(f.is_long).outer_join(right.map_values(f.shout), f.joined).to_stream().to("out")


@topology("two-filtered-tables-join")
def two_filtered_tables(builder: hr.StreamsBuilder, *, kind: str) -> None:
    """The kind of a join decides which of its sides know old values, and so which deletions a filter forwards."""
    left, right = _tables(builder)
    by_kind(left.filter(f.is_long), kind)(right.filter(f.is_long), f.joined).to_stream().to("out")


@topology("two-filtered-tables-join-and-aggregate")
def two_filtered_tables_and_aggregate(builder: hr.StreamsBuilder, *, kind: str) -> None:
    left, right = _tables(builder)
    joined = by_kind(left.filter(f.is_long), kind)(right.filter(f.is_long), f.joined)
    joined.group_by(f.by_key).aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


@topology("two-filtered-tables-foreign-key-join")
def two_filtered_tables_by_foreign_key(builder: hr.StreamsBuilder, *, kind: str) -> None:
    left, right = _tables(builder)
    foreign = right.filter(f.is_long)
    by_kind(left.filter(f.is_longer), kind)(foreign, f.joined, foreign_key=foreign_key_of).to_stream().to("out")


@topology("table-table-join-and-aggregate")
def join_and_aggregate(builder: hr.StreamsBuilder) -> None:
    """An aggregation makes the old values that a join forwards visible."""
    left, right = _tables(builder)
    grouped = left.left_join(right, f.joined).group_by(f.by_group)
    grouped.aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


@topology("counts-join")
def counts_join(builder: hr.StreamsBuilder) -> None:
    left: Any = builder.stream("left").group_by_key().count()
    left.outer_join(builder.stream("right").group_by_key().count(), f.joined).to_stream().to("out")


@topology("versioned-tables-join")
def versioned_tables(builder: hr.StreamsBuilder, *, history: int) -> None:
    left, right = versioned_table(builder, "left", history), versioned_table(builder, "right", history)
    left.join(right, f.joined).to_stream().to("out")


@topology("foreign-key-join")
def foreign_key(builder: hr.StreamsBuilder) -> None:
    left, right = _tables(builder)
    left.join(right, f.joined, foreign_key=foreign_key_of).to_stream().to("out")


@topology("foreign-key-left-join")
def foreign_key_left(builder: hr.StreamsBuilder) -> None:
    left, right = _tables(builder)
    left.left_join(right, f.joined, foreign_key=foreign_key_of).to_stream().to("out")


@topology("foreign-key-join-and-aggregate")
def foreign_key_and_aggregate(builder: hr.StreamsBuilder) -> None:
    left, right = _tables(builder)
    grouped = left.join(right, f.joined, foreign_key=foreign_key_of).group_by(f.by_group)
    grouped.aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


def _tables(builder: hr.StreamsBuilder) -> tuple[Any, Any]:
    return builder.table("left"), builder.table("right")


def _store(stored: bool) -> dict[str, str]:
    return {"store": "joined"} if stored else {}


def by_kind(left: Any, kind: str) -> Any:
    """The method of a join that is "inner", "left" or "outer"."""
    return left.join if kind == "inner" else getattr(left, f"{kind}_join")


def foreign_key_of(key: str, value: str | None) -> str | None:  # noqa: ARG001
    return f.group(value)
