"""Operators whose result is in a versioned store, or in a store of a given kind."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import ms, topology
from conformance.topologies.table_joins import by_kind
from conformance.topologies.tables import versioned_table
from conformance.topologies.transformations import Shouting


@topology("table-filter-versioned")
def table_filter(builder: hr.StreamsBuilder, *, result_history: int, **source: Any) -> None:
    _source(builder, "in", **source).filter(f.is_long, store=_result(result_history)).to_stream().to("out")


@topology("table-map-values-versioned")
def table_map_values(builder: hr.StreamsBuilder, *, result_history: int, **source: Any) -> None:
    _source(builder, "in", **source).map_values(f.shout, store=_result(result_history)).to_stream().to("out")


@topology("versioned-table-filter-stored")
def filter_stored(builder: hr.StreamsBuilder, *, history: int) -> None:
    versioned_table(builder, "in", history).filter(f.is_long, store="result").to_stream().to("out")


@topology("versioned-table-map-values-stored")
def map_values_stored(builder: hr.StreamsBuilder, *, history: int) -> None:
    versioned_table(builder, "in", history).map_values(f.shout, store="result").to_stream().to("out")


@topology("table-filter-versioned-and-aggregate")
def filter_and_aggregate(builder: hr.StreamsBuilder, *, result_history: int, **source: Any) -> None:
    rows = _source(builder, "in", **source).filter(f.is_long, store=_result(result_history))
    rows.group_by(f.by_group).aggregate(f.arrow, f.plus, f.minus).to_stream().to("out")


@topology("count-versioned")
def count(builder: hr.StreamsBuilder, *, result_history: int) -> None:
    builder.stream("in").group_by_key().count(store=_result(result_history)).to_stream().to("out")


@topology("reduce-versioned")
def reduce(builder: hr.StreamsBuilder, *, result_history: int) -> None:
    grouped: Any = builder.stream("in").group_by_key()
    grouped.reduce(_appended_or_deleted, store=_result(result_history)).to_stream().to("out")


@topology("aggregate-versioned")
def aggregate(builder: hr.StreamsBuilder, *, result_history: int) -> None:
    grouped: Any = builder.stream("in").group_by_key()
    grouped.aggregate(f.empty, f.concat_or_delete, store=_result(result_history)).to_stream().to("out")


@topology("reduce-versioned-and-aggregate")
def reduce_and_aggregate(builder: hr.StreamsBuilder, *, result_history: int) -> None:
    grouped: Any = builder.stream("in").group_by_key()
    rows = grouped.reduce(f.appended, store=_result(result_history))
    rows.group_by(f.under_a).aggregate(f.arrow, f.plus, f.minus).to_stream().to("out")


@topology("table-aggregate-versioned")
def table_aggregate(builder: hr.StreamsBuilder, *, result_history: int) -> None:
    grouped: Any = builder.table("in").group_by(f.by_group)
    grouped.aggregate(f.arrow, f.plus, f.minus, store=_result(result_history)).to_stream().to("out")


@topology("cogroup-versioned")
def cogroup(builder: hr.StreamsBuilder, *, result_history: int) -> None:
    first: Any = builder.stream("in").group_by_key()
    both = first.cogroup(f.concat_or_delete).cogroup(builder.stream("other").group_by_key(), f.concat)
    both.aggregate(f.empty, store=_result(result_history)).to_stream().to("out")


@topology("tables-join-versioned")
def tables_join(builder: hr.StreamsBuilder, *, kind: str, result_history: int, **source: Any) -> None:
    left, right = _source(builder, "left", **source), builder.table("right")
    by_kind(left, kind)(right, f.joined, store=_result(result_history)).to_stream().to("out")


@topology("foreign-key-join-versioned")
def foreign_key_join(builder: hr.StreamsBuilder, *, result_history: int) -> None:
    left: Any = builder.table("left")
    right, store = builder.table("right"), _result(result_history)
    left.join(right, f.joined, foreign_key=lambda _, value: f.group(value), store=store).to_stream().to("out")


@topology("table-transform-values-versioned")
def transform_values(builder: hr.StreamsBuilder, *, result_history: int, **source: Any) -> None:
    _source(builder, "in", **source).transform_values(Shouting, store=_result(result_history)).to_stream().to("out")


@topology("stream-join-versioned-count")
def stream_join_count(builder: hr.StreamsBuilder, *, result_history: int) -> None:
    counts = builder.stream("table").group_by_key().count(store=_result(result_history))
    stream: Any = builder.stream("stream")
    stream.left_join(counts, f.joined).to("out")


@topology("stream-join-versioned-filter")
def stream_join_filter(builder: hr.StreamsBuilder, *, result_history: int) -> None:
    rows = builder.table("table").filter(f.is_long, store=_result(result_history))
    stream: Any = builder.stream("stream")
    stream.left_join(rows, f.joined).to("out")


@topology("count-in-given-store")
def count_in_given_store(builder: hr.StreamsBuilder) -> None:
    store = hr.Stores.timestamped_key_value("counts")
    builder.stream("in").group_by_key().count(store=store).to_stream().to("out")


def _source(builder: hr.StreamsBuilder, topic: str, *, versioned: bool = False, history: int = 0) -> Any:
    return versioned_table(builder, topic, history) if versioned else builder.table(topic)


def _result(history: int) -> Any:
    return hr.Stores.versioned_key_value("result", history=ms(history))


def _appended_or_deleted(aggregate: str, value: str) -> str | None:
    return None if value == "del" else f.appended(aggregate, value)
