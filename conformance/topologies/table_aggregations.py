"""Aggregations of a grouped table: subtract, then add."""

from __future__ import annotations

import headrace as hr
from conformance import functions as f
from conformance.registry import topology
from conformance.topologies.tables import versioned_table


@topology("table-count-by-group")
def table_count_by_group(builder: hr.StreamsBuilder) -> None:
    builder.table("in").group_by(f.by_group).count().to_stream().to("out")


@topology("table-count-by-key")
def table_count_by_key(builder: hr.StreamsBuilder) -> None:
    builder.table("in").group_by(f.by_key).count().to_stream().to("out")


@topology("table-count-by-value")
def table_count_by_value(builder: hr.StreamsBuilder) -> None:
    builder.table("in").group_by(f.by_value).count().to_stream().to("out")


@topology("table-reduce")
def table_reduce(builder: hr.StreamsBuilder) -> None:
    builder.table("in").group_by(f.by_group).reduce(f.plus_one, f.minus_one).to_stream().to("out")


@topology("table-aggregate")
def table_aggregate(builder: hr.StreamsBuilder) -> None:
    builder.table("in").group_by(f.by_group).aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


@topology("table-set")
def table_set(builder: hr.StreamsBuilder) -> None:
    grouped = builder.table("in").group_by(f.by_group)
    grouped.aggregate(f.empty, f.with_member, f.without_member).to_stream().to("out")


@topology("table-aggregate-or-nothing")
def table_aggregate_or_nothing(builder: hr.StreamsBuilder) -> None:
    builder.table("in").group_by(f.by_group_or_nothing).aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


@topology("table-filter-and-aggregate")
def table_filter_and_aggregate(builder: hr.StreamsBuilder) -> None:
    shouted = builder.table("in").filter(lambda _, value: not value.startswith("C")).map_values(f.shout)
    shouted.group_by(f.by_group).aggregate(f.empty, f.plus, f.minus).to_stream().to("out")


@topology("count-of-counts")
def count_of_counts(builder: hr.StreamsBuilder) -> None:
    counts = builder.stream("in").group_by_key().count()
    counts.group_by(lambda key, count: (f"n{count}", key)).count().to_stream().to("out")


@topology("versioned-table-count-by-group")
def versioned_count_by_group(builder: hr.StreamsBuilder, *, history: int) -> None:
    versioned_table(builder, "in", history).group_by(f.by_group).count().to_stream().to("out")


@topology("versioned-table-aggregate")
def versioned_aggregate(builder: hr.StreamsBuilder, *, history: int) -> None:
    grouped = versioned_table(builder, "in", history).group_by(f.by_group)
    grouped.aggregate(f.empty, f.plus, f.minus).to_stream().to("out")
