"""Joins of tables with tables derived from them: one input record changes both sides, or one side twice."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import topology
from conformance.topologies.table_joins import by_kind, foreign_key_of


@topology("table-join-own-last")
def own_last(builder: hr.StreamsBuilder) -> None:
    """The latest of all rows, joined with the mapped rows and with the rows as they are."""
    table: Any = builder.table("in")
    mapped = table.map_values(f.shout)
    last = mapped.group_by(f.under_a).reduce(f.newer, f.kept)
    last.outer_join(mapped, f.joined).join(table, f.joined).to_stream().to("out")


@topology("table-join-own-mappings")
def own_mappings(builder: hr.StreamsBuilder) -> None:
    """As above, with rows that are mapped in two ways."""
    table: Any = builder.table("in")
    mapped = table.map_values(f.shout)
    last = mapped.group_by(f.under_a).reduce(f.newer, f.kept)
    last.outer_join(mapped, f.joined).join(table.map_values(f.item), f.joined).to_stream().to("out")


@topology("table-join-own-aggregate")
def own_aggregate(builder: hr.StreamsBuilder) -> None:
    """Rows joined with an aggregate of the filtered rows, then with the filtered rows."""
    table: Any = builder.table("in")
    long = table.filter(f.is_long)
    table.to_stream().to("rows")
    grouped = long.group_by(f.by_key).aggregate(f.empty, f.plus, f.minus)
    table.left_join(grouped, f.joined).outer_join(long, f.joined).to_stream().to("out")


@topology("foreign-key-join-of-rows-that-change-twice")
def rows_that_change_twice(builder: hr.StreamsBuilder, *, kind: str) -> None:
    rows: Any = builder.stream("left").flat_map_values(f.twice).to_table()
    by_kind(rows, kind)(builder.table("right"), f.joined, foreign_key=foreign_key_of).to_stream().to("out")


@topology("foreign-key-self-join")
def foreign_key_self_join(builder: hr.StreamsBuilder, *, kind: str) -> None:
    table: Any = builder.table("in")
    by_kind(table, kind)(table, f.joined, foreign_key=foreign_key_of).to_stream().to("out")


@topology("foreign-key-join-own-mapping")
def foreign_key_join_own_mapping(builder: hr.StreamsBuilder, *, kind: str) -> None:
    table: Any = builder.table("in")
    by_kind(table, kind)(table.map_values(f.item), f.joined, foreign_key=foreign_key_of).to_stream().to("out")
