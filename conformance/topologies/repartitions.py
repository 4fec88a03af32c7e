"""Topologies of several stages."""

from __future__ import annotations

from typing import Any

import headrace as hr
from conformance import functions as f
from conformance.registry import topology


@topology("repartition")
def repartition(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").repartition("again").to("out")


@topology("select-key-and-count")
def select_key_and_count(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").select_key(lambda _, value: f.head(value)).group_by_key().count().to_stream().to("out")


@topology("count-after-repartition")
def count_after_repartition(builder: hr.StreamsBuilder) -> None:
    by_head = builder.stream("in").select_key(lambda _, value: f.head(value)).repartition("again")
    by_head.group_by_key().count().to_stream().to("out")


@topology("count-letters")
def count_letters(builder: hr.StreamsBuilder) -> None:
    by_letter = builder.stream("in").flat_map(lambda _, value: [(letter, value) for letter in f.letters(value)])
    by_letter.group_by_key().count().to_stream().to("out")


@topology("two-repartitions")
def two_repartitions(builder: hr.StreamsBuilder) -> None:
    _counted_by_head(builder).group_by_key().aggregate(f.arrow, f.concat).to_stream().to("out")


@topology("three-repartitions")
def three_repartitions(builder: hr.StreamsBuilder) -> None:
    (
        _counted_by_head(builder)
        .group_by_key()
        .aggregate(f.arrow, f.concat)
        .to_stream()
        .map(lambda key, value: (str(len(value) % 3), key + value))
        .group_by_key()
        .reduce(f.appended)
        .to_stream()
        .to("out")
    )


@topology("merge-order")
def merge_order(builder: hr.StreamsBuilder) -> None:
    """Two stages write to one; of their waiting records the one with the smallest timestamp is processed first."""
    stream = builder.stream("in")
    counts = stream.group_by_key().count().to_stream().map_values(lambda count: f"#{count}").repartition("counts")
    others = stream.filter(lambda _, value: value != "first").repartition("others")
    counts.merge(others).to("out")


def _counted_by_head(builder: hr.StreamsBuilder) -> hr.KStream[Any, Any]:
    counts = builder.stream("in").group_by(lambda _, value: f.head(value)).count()
    return counts.to_stream().map(lambda letter, count: (f"n{count}", letter))
