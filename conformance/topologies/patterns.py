"""Sources that read all topics whose names match a pattern."""

from __future__ import annotations

import re

import headrace as hr
from conformance import functions as f
from conformance import processors as p
from conformance.registry import topology
from conformance.topologies.windows import time_windows

_BOTH = re.compile("in|oth.*")


@topology("pattern")
def pattern(builder: hr.StreamsBuilder) -> None:
    builder.stream(_BOTH).map_values(f.shout).to("out")


@topology("pattern-and-topic")
def and_topic(builder: hr.StreamsBuilder) -> None:
    builder.stream(re.compile("oth.*")).map_values(f.shout).merge(builder.stream("in")).to("out")


@topology("pattern-twice")
def twice(builder: hr.StreamsBuilder) -> None:
    """Two streams of the same pattern share a source."""
    builder.stream(_BOTH).map_values(f.shout).to("loud")
    builder.stream(re.compile("in|oth.*")).filter(f.is_long).to("long")


@topology("two-patterns")
def two(builder: hr.StreamsBuilder) -> None:
    builder.stream(re.compile("i.")).to("out")
    builder.stream(re.compile("o.*r")).map_values(f.shout).to("out")


@topology("pattern-count")
def count(builder: hr.StreamsBuilder) -> None:
    builder.stream(_BOTH).group_by_key().count().to_stream().to("out")


@topology("pattern-reduce-by-head")
def reduce_by_head(builder: hr.StreamsBuilder) -> None:
    builder.stream(_BOTH).group_by(lambda _, value: f.head(value)).reduce(f.appended).to_stream().to("out")


@topology("pattern-window-count")
def window_count(builder: hr.StreamsBuilder, **windows: int) -> None:
    builder.stream(_BOTH).group_by_key().windowed_by(time_windows(**windows)).count().to_stream().to("out")


@topology("pattern-to-table")
def to_table(builder: hr.StreamsBuilder) -> None:
    builder.stream(_BOTH).to_table().filter(f.is_long).to_stream().to("out")


@topology("pattern-join-table")
def join_table(builder: hr.StreamsBuilder) -> None:
    builder.stream(re.compile("str(eam)?")).join(builder.table("table"), f.joined).to("out")


@topology("pattern-of-processors")
def of_processors(builder: hr.StreamsBuilder) -> hr.Topology:  # noqa: ARG001
    built = hr.Topology()
    built.add_source("source", _BOTH)
    built.add_processor("obedient", p.Obedient, parents=["source"])
    for sink in ("first", "second"):
        built.add_sink(sink, sink, parents=["obedient"])
    return built
