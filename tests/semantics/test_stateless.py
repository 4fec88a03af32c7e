"""Stateless operators: every output keeps the input's timestamp and headers; nulls pass; first branch wins."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace import Record, StreamsBuilder, serdes
from tests.support.runtimes import SparkRuntime


def test_stateless_operators_keep_timestamp_and_headers(runtime):
    builder = StreamsBuilder()
    stream = builder.stream("in", value_serde=serdes.Json())
    stream.filter(lambda key, value: value is None or value > 1).to("filter")
    stream.filter_not(lambda key, value: value is None or value > 1).to("filter-not")
    stream.map(lambda key, value: (f"{key}!", str(value))).to("map")
    stream.map_values(lambda value: [value]).to("map-values")
    stream.map_values_with_key(lambda key, value: [key, value]).to("map-values-with-key")
    stream.flat_map(lambda key, value: [("x", value), ("y", value)]).to("flat-map")
    stream.flat_map_values(lambda value: [] if value is None else range(value)).to("flat-map-values")
    stream.select_key(lambda key, value: str(value)).to("select-key")
    stream.merge(stream.map_values(lambda value: "again")).to("merge")
    headers = (("h", b"1"), ("n", None))
    outputs, _ = runtime.run(
        builder.build(), [("in", "a", 1, 10, headers), ("in", None, 2, 5), ("in", "c", None, 7), ("in", "d", 3, 6)]
    )
    assert outputs == {
        "filter": [Record(None, 2, 5), Record("c", None, 7), Record("d", 3, 6)],
        "filter-not": [Record("a", 1, 10, headers)],
        "map": [Record("a!", "1", 10, headers), Record("None!", "2", 5), Record("c!", "None", 7), Record("d!", "3", 6)],
        "map-values": [
            Record("a", [1], 10, headers),
            Record(None, [2], 5),
            Record("c", [None], 7),
            Record("d", [3], 6),
        ],
        "map-values-with-key": [
            Record("a", ["a", 1], 10, headers),
            Record(None, [None, 2], 5),
            Record("c", ["c", None], 7),
            Record("d", ["d", 3], 6),
        ],
        "flat-map": [
            Record(key, value, timestamp_ms, h)
            for value, timestamp_ms, h in [(1, 10, headers), (2, 5, ()), (None, 7, ()), (3, 6, ())]
            for key in ("x", "y")
        ],
        "flat-map-values": [
            Record("a", 0, 10, headers),
            Record(None, 0, 5),
            Record(None, 1, 5),
            Record("d", 0, 6),
            Record("d", 1, 6),
            Record("d", 2, 6),
        ],
        "select-key": [
            Record("1", 1, 10, headers),
            Record("2", 2, 5),
            Record("None", None, 7),
            Record("3", 3, 6),
        ],
        "merge": [
            Record(key, value, timestamp_ms, h)
            for key, values, timestamp_ms, h in [
                ("a", ("again", 1), 10, headers),
                (None, ("again", 2), 5, ()),
                ("c", ("again", None), 7, ()),
                ("d", ("again", 3), 6, ()),
            ]
            for value in values
        ],
    }


def test_split_sends_each_record_to_the_first_matching_branch(runtime):
    builder = StreamsBuilder()
    branches = (
        builder.stream("in")
        .split(name="size-")
        .branch(lambda key, value: value > 100, name="huge")
        .branch(lambda key, value: value > 10)
        .default(name="small")
    )
    assert list(branches) == ["huge", "2", "small"]
    for name, stream in branches.items():
        stream.to(f"out-{name}")
    outputs, _ = runtime.run(builder.build(), [("in", "a", v, t) for t, v in enumerate([5, 500, 50, 11, 10])])
    assert outputs == {
        "out-huge": [Record("a", 500, 1)],
        "out-2": [Record("a", 50, 2), Record("a", 11, 3)],
        "out-small": [Record("a", 5, 0), Record("a", 10, 4)],
    }


def test_split_without_default_drops_and_counts_the_rest(runtime):
    builder = StreamsBuilder()
    builder.stream("in").split().branch(lambda key, value: value > 1, name="big").no_default()["big"].to("out")
    outputs, metrics = runtime.run(builder.build(), [("in", "a", 1, 0), ("in", "a", 2, 1)])
    assert outputs == {"out": [Record("a", 2, 1)]}
    assert metrics["KSTREAM-BRANCH-0000000001"] == {"dropped": {"no branch": 1}}


@pytest.mark.spark
def test_records_of_two_topics_merge_by_smallest_head_timestamp(spark, tmp_path):
    runtime = SparkRuntime(spark, tmp_path)
    builder = StreamsBuilder()
    builder.stream("a").merge(builder.stream("b")).group_by_key().aggregate(
        list, lambda k, v, seen: [*seen, v]
    ).to_stream().to("out")
    topology = builder.build()
    runtime.produce(
        topology,
        [("a", "k", "A10", 10), ("a", "k", "A3", 3), ("a", "k", "A30", 30), ("b", "k", "B5", 5), ("b", "k", "B20", 20)],
    )
    hr.Streams(topology, runtime.config(), spark=spark).process_available()
    assert runtime.outputs(topology)["out"][-1] == Record("k", ["B5", "A10", "A3", "B20", "A30"], 30)
