"""Operators without state."""

from __future__ import annotations

import headrace as hr
from conformance import functions as f
from conformance.registry import topology


@topology("filter")
def filtered(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").filter(f.is_long).to("out")


@topology("filter-not")
def filtered_not(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").filter_not(f.is_long).to("out")


@topology("map")
def swapped(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").map(lambda key, value: (value, key)).to("out")


@topology("map-values")
def map_values(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").map_values(f.shout).to("out")


@topology("map-values-with-key")
def map_values_with_key(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").map_values_with_key(f.joined).to("out")


@topology("flat-map")
def flat_map(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").flat_map(lambda key, value: [(letter, key) for letter in f.letters(value)]).to("out")


@topology("flat-map-values")
def flat_map_values(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").flat_map_values(f.words).to("out")


@topology("select-key")
def select_key(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").select_key(lambda _, value: f.head(value)).to("out")


@topology("peek")
def peek(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").peek(lambda _, value: f.shout(value)).to("out")


@topology("merge")
def merge(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").merge(builder.stream("other")).to("out")


@topology("merge-with-itself")
def merge_with_itself(builder: hr.StreamsBuilder) -> None:
    stream = builder.stream("in")
    stream.merge(stream).to("out")


@topology("several-topics")
def several_topics(builder: hr.StreamsBuilder) -> None:
    builder.stream(["in", "other"]).to("out")


@topology("split-with-default")
def split_with_default(builder: hr.StreamsBuilder) -> None:
    branches = (
        builder.stream("in")
        .split(name="by-")
        .branch(f.is_longer, name="big")
        .branch(f.is_long, name="middle")
        .default(name="rest")
    )
    for name, branch in branches.items():
        branch.to(name)


@topology("split-without-default")
def split_without_default(builder: hr.StreamsBuilder) -> None:
    branches = (
        builder.stream("in")
        .split(name="by-")
        .branch(f.is_long, name="long")
        .branch(lambda key, _: key is None, name="keyless")
        .no_default()
    )
    for name, branch in branches.items():
        branch.to(name)


@topology("split-and-merge")
def split_and_merge(builder: hr.StreamsBuilder) -> None:
    branches = builder.stream("in").split(name="by-").branch(f.is_long, name="long").default(name="short")
    branches["short"].map_values(f.shout).merge(branches["long"]).to("out")


@topology("split-into-consumers")
def split_into_consumers(builder: hr.StreamsBuilder) -> None:
    (
        builder.stream("in")
        .split(name="by-")
        .branch(f.is_longer, consumer=lambda stream: stream.map_values(f.shout).to("big"))
        .branch(f.is_long, consumer=lambda stream: stream.to("middle"))
        .default(consumer=lambda stream: stream.to("rest"))
    )


@topology("split-into-functions")
def split_into_functions(builder: hr.StreamsBuilder) -> None:
    branches = (
        builder.stream("in")
        .split(name="by-")
        .branch(f.is_longer, name="big", function=lambda stream: stream.map_values(f.shout))
        .branch(f.is_long, name="middle", consumer=lambda stream: stream.to("middle"))
        .default(name="rest", function=lambda stream: stream.filter(lambda key, _: key is not None))
    )
    branches["big"].merge(branches["rest"]).to("out")


@topology("flat-map-values-with-key")
def flat_map_values_with_key(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").flat_map_values_with_key(lambda key, value: f.twice(f.joined(key, value))).to("out")


@topology("chain")
def chain(builder: hr.StreamsBuilder) -> None:
    (
        builder.stream("in")
        .filter(lambda _, value: value is not None)
        .flat_map_values(f.words)
        .filter_not(lambda _, word: word == "")
        .map(lambda key, word: (f.head(word), f.show(key) + word))
        .map_values(f.shout)
        .to("out")
    )


@topology("two-sinks")
def two_sinks(builder: hr.StreamsBuilder) -> None:
    stream = builder.stream("in")
    stream.map_values(f.shout).to("loud")
    stream.filter(f.is_long).to("long")


@topology("one-topic-twice")
def one_topic_twice(builder: hr.StreamsBuilder) -> None:
    stream = builder.stream("in")
    stream.map_values(f.shout).to("out")
    stream.filter(f.is_long).to("out")


@topology("through-topic")
def through_topic(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").map_values(f.shout).to("middle")
    builder.stream("middle").flat_map_values(f.words).to("out")


@topology("failing-map")
def failing_map(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").flat_map_values(f.words).map_values(_checked).to("out")


@topology("failing-map-continue")
def failing_map_continue(builder: hr.StreamsBuilder) -> None:
    builder.stream("in").flat_map_values(f.words).map_values(_checked).to("out")


def _checked(word: str) -> str:
    if word == "bad":
        message = "bad word"
        raise ValueError(message)
    return word
