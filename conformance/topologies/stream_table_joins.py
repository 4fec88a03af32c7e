"""Joins of a stream with a table or a global table."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import ms, topology
from conformance.topologies.tables import versioned_table


@topology("stream-table-join")
def inner(builder: hr.StreamsBuilder) -> None:
    _stream(builder).join(builder.table("table"), f.joined).to("out")


@topology("stream-table-left-join")
def left(builder: hr.StreamsBuilder) -> None:
    _stream(builder).left_join(builder.table("table"), f.joined).to("out")


@topology("stream-table-join-by-head")
def inner_by_head(builder: hr.StreamsBuilder) -> None:
    _by_head(builder).join(builder.table("table"), f.joined).to("out")


@topology("stream-table-left-join-by-head")
def left_by_head(builder: hr.StreamsBuilder) -> None:
    _by_head(builder).left_join(builder.table("table"), f.joined).to("out")


@topology("stream-filtered-table-left-join")
def filtered_left(builder: hr.StreamsBuilder) -> None:
    _stream(builder).left_join(builder.table("table").filter(f.is_long).map_values(f.shout), f.joined).to("out")


@topology("stream-join-own-count")
def own_count(builder: hr.StreamsBuilder) -> None:
    stream: Any = builder.stream("in")
    stream.join(stream.group_by_key().count(), f.joined).to("out")


@topology("stream-versioned-table-join")
def versioned_inner(builder: hr.StreamsBuilder, *, history: int) -> None:
    _stream(builder).join(versioned_table(builder, "table", history), f.joined).to("out")


@topology("stream-versioned-table-left-join")
def versioned_left(builder: hr.StreamsBuilder, *, history: int) -> None:
    _stream(builder).left_join(versioned_table(builder, "table", history), f.joined).to("out")


@topology("stream-table-join-with-grace")
def grace_inner(builder: hr.StreamsBuilder, *, history: int, grace: int) -> None:
    _stream(builder).join(versioned_table(builder, "table", history), f.joined, grace=ms(grace)).to("out")


@topology("stream-table-left-join-with-grace")
def grace_left(builder: hr.StreamsBuilder, *, history: int, grace: int) -> None:
    _stream(builder).left_join(versioned_table(builder, "table", history), f.joined, grace=ms(grace)).to("out")


@topology("global-table-join")
def global_inner(builder: hr.StreamsBuilder) -> None:
    table = builder.global_table("table")
    _stream(builder).join(table, f.joined, key_selector=lambda _, value: f.head(value)).to("out")


@topology("global-table-left-join")
def global_left(builder: hr.StreamsBuilder) -> None:
    table = builder.global_table("table")
    _stream(builder).left_join(table, f.joined, key_selector=lambda _, value: f.head(value)).to("out")


@topology("global-table-join-by-key")
def global_by_key(builder: hr.StreamsBuilder) -> None:
    _stream(builder).join(builder.global_table("table"), f.joined, key_selector=lambda key, _: key).to("out")


def _stream(builder: hr.StreamsBuilder) -> Any:
    return builder.stream("stream")


def _by_head(builder: hr.StreamsBuilder) -> Any:
    return builder.stream("stream").select_key(lambda _, value: f.head(value))
