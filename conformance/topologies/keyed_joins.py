"""Joins of a stream whose joiner gets the key."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import ms, topology
from conformance.topologies.stream_joins import join_windows
from conformance.topologies.table_joins import by_kind
from conformance.topologies.tables import versioned_table


@topology("stream-stream-join-with-key")
def streams(builder: hr.StreamsBuilder, *, kind: str, **within: int) -> None:
    left: Any = builder.stream("left")
    by_kind(left, kind)(builder.stream("right"), f.keyed, within=join_windows(**within)).to("out")


@topology("stream-stream-join-with-key-by-head")
def streams_by_head(builder: hr.StreamsBuilder, *, kind: str, **within: int) -> None:
    left, right = _by_head(builder, "left"), _by_head(builder, "right")
    by_kind(left, kind)(right, f.keyed, within=join_windows(**within)).to("out")


@topology("stream-self-join-with-key")
def self_join(builder: hr.StreamsBuilder, *, kind: str, **within: int) -> None:
    stream: Any = builder.stream("in")
    by_kind(stream, kind)(stream, f.keyed, within=join_windows(**within)).to("out")


@topology("stream-table-join-with-key")
def stream_and_table(builder: hr.StreamsBuilder, *, kind: str) -> None:
    by_kind(builder.stream("stream"), kind)(builder.table("table"), f.keyed).to("out")


@topology("stream-table-join-with-key-by-head")
def stream_and_table_by_head(builder: hr.StreamsBuilder, *, kind: str) -> None:
    by_kind(_by_head(builder, "stream"), kind)(builder.table("table"), f.keyed).to("out")


@topology("stream-table-join-with-key-and-grace")
def with_grace(builder: hr.StreamsBuilder, *, history: int, grace: int) -> None:
    stream: Any = builder.stream("stream")
    stream.join(versioned_table(builder, "table", history), f.keyed, grace=ms(grace)).to("out")


@topology("global-table-join-with-key")
def stream_and_global_table(builder: hr.StreamsBuilder, *, kind: str) -> None:
    table = builder.global_table("table")
    by_kind(builder.stream("stream"), kind)(table, f.keyed, key_selector=lambda _, value: f.head(value)).to("out")


def _by_head(builder: hr.StreamsBuilder, topic: str) -> Any:
    return builder.stream(topic).select_key(lambda _, value: f.head(value))
