"""Aggregations of a grouped stream, without windows."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import topology
from headrace import serdes


@topology("count")
def count(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").group_by_key().count().to_stream().to("out")


@topology("reduce")
def reduced(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").group_by_key().reduce(f.appended).to_stream().to("out")


@topology("reduce-delete")
def reduce_delete(builder: hr.StreamsBuilder) -> None:
    def reducer(aggregate: str, value: str) -> str | None:
        return f.concat_or_delete(None, value, aggregate)

    builder.stream("in").group_by_key().reduce(reducer).to_stream().to("out")


@topology("aggregate")
def aggregate(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").group_by_key().aggregate(f.arrow, f.concat).to_stream().to("out")


@topology("aggregate-delete")
def aggregate_delete(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").group_by_key().aggregate(f.empty, f.concat_or_delete).to_stream().to("out")


@topology("sum-of-lengths")
def sum_of_lengths(builder: hr.StreamsBuilder) -> None:
    grouped = builder.stream("in").group_by_key()
    sums = grouped.aggregate(int, lambda _, value, total: total + len(value), value_serde=serdes.Long())
    sums.to_stream().to("out")


@topology("count-words")
def count_words(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").flat_map_values(f.words).group_by_key().count().to_stream().to("out")


@topology("count-of-merged")
def count_of_merged(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").merge(builder.stream("other")).group_by_key().count().to_stream().to("out")


@topology("count-by-head")
def count_by_head(builder: hr.StreamsBuilder) -> None:
    _by_head(builder).count().to_stream().to("out")


@topology("reduce-by-head")
def reduce_by_head(builder: hr.StreamsBuilder) -> None:
    _by_head(builder).reduce(f.appended).to_stream().to("out")


@topology("aggregate-by-head")
def aggregate_by_head(builder: hr.StreamsBuilder) -> None:
    _by_head(builder).aggregate(f.arrow, f.concat).to_stream().to("out")


@topology("two-aggregates")
def two_aggregates(builder: hr.StreamsBuilder) -> None:
    grouped = builder.stream("in").group_by(lambda _, value: f.head(value), name="by-head")
    grouped.count().to_stream().to("counts")
    grouped.aggregate(f.empty, f.concat).to_stream().to("texts")


@topology("aggregate-and-pass")
def aggregate_and_pass(builder: hr.StreamsBuilder) -> None:
    stream = builder.stream("in")
    stream.group_by_key().count().to_stream().map_values(f.show).merge(stream).to("out")


def _by_head(builder: hr.StreamsBuilder) -> hr.KGroupedStream[Any, Any]:
    return builder.stream("in").group_by(lambda _, value: f.head(value))
