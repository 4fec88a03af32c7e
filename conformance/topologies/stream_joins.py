"""Joins of two streams."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import ms, topology


@topology("stream-stream-join")
def inner(builder: hr.StreamsBuilder, **within: int) -> None:
    _stream(builder, "left").join(_stream(builder, "right"), f.joined, within=join_windows(**within)).to("out")


@topology("stream-stream-left-join")
def left(builder: hr.StreamsBuilder, **within: int) -> None:
    _stream(builder, "left").left_join(_stream(builder, "right"), f.joined, within=join_windows(**within)).to("out")


@topology("stream-stream-outer-join")
def outer(builder: hr.StreamsBuilder, **within: int) -> None:
    _stream(builder, "left").outer_join(_stream(builder, "right"), f.joined, within=join_windows(**within)).to("out")


@topology("stream-self-join")
def self_join(builder: hr.StreamsBuilder, **within: int) -> None:
    stream = _stream(builder, "in")
    stream.join(stream, f.joined, within=join_windows(**within)).to("out")


@topology("stream-stream-join-by-head")
def inner_by_head(builder: hr.StreamsBuilder, **within: int) -> None:
    _by_head(builder, "left").join(_by_head(builder, "right"), f.joined, within=join_windows(**within)).to("out")


@topology("stream-stream-left-join-by-head")
def left_by_head(builder: hr.StreamsBuilder, **within: int) -> None:
    _by_head(builder, "left").left_join(_by_head(builder, "right"), f.joined, within=join_windows(**within)).to("out")


@topology("stream-stream-outer-join-by-head")
def outer_by_head(builder: hr.StreamsBuilder, **within: int) -> None:
    _by_head(builder, "left").outer_join(_by_head(builder, "right"), f.joined, within=join_windows(**within)).to("out")


@topology("stream-stream-join-and-count")
def left_and_count(builder: hr.StreamsBuilder, **within: int) -> None:
    pairs = _stream(builder, "left").left_join(_stream(builder, "right"), f.joined, within=join_windows(**within))
    pairs.group_by_key().count().to_stream().to("out")


@topology("left-join-and-count-after-repartition")
def left_and_count_after_repartition(builder: hr.StreamsBuilder, **within: int) -> None:
    """The right side's records are also counted, those without a key, too."""
    again = _stream(builder, "right").repartition("again")
    _stream(builder, "left").left_join(again, f.joined, within=join_windows(**within)).to("out")
    again.select_key(lambda _, value: f.head(value)).group_by_key().count().to_stream().to("counts")


@topology("three-streams-join")
def three_streams(builder: hr.StreamsBuilder, **within: int) -> None:
    pairs = _stream(builder, "left").join(_stream(builder, "right"), f.joined, within=join_windows(**within))
    pairs.join(_stream(builder, "third"), f.joined, within=join_windows(**within)).to("out")


def _stream(builder: hr.StreamsBuilder, topic: str) -> Any:
    return builder.stream(topic)


def _by_head(builder: hr.StreamsBuilder, topic: str) -> Any:
    return builder.stream(topic).select_key(lambda _, value: f.head(value))


def join_windows(*, difference: int, grace: int = 0, before: int | None = None, after: int | None = None) -> Any:
    return hr.JoinWindows.of(
        ms(difference),
        before=None if before is None else ms(before),
        after=None if after is None else ms(after),
        grace=ms(grace),
    )
