"""Sources that read all topics whose names match a pattern."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, StreamsBuilder, TimeWindows, serdes

ORDERS = re.compile("orders-.*")


class WithTopic(hr.FixedKeyProcessor):
    def process(self, record):
        metadata = self.context.record_metadata
        self.context.forward(record.with_value(f"{metadata.topic}@{metadata.offset}"))


def test_stream_reads_all_topics_that_match_and_keeps_their_names_and_offsets(runtime):
    builder = StreamsBuilder()
    orders = builder.stream(ORDERS)
    orders.process_values(WithTopic).to("read")
    orders.group_by_key().count(store="counts").to_stream().to("counts", value_serde=serdes.Long())
    inputs = [
        ("orders-eu", "a", 1, 10),
        ("orders-us", "a", 2, 11),
        ("orders-eu", "b", 3, 12),
        ("orders-us", "a", 4, 13),
    ]
    outputs, metrics = runtime.run(builder.build(), inputs)
    assert outputs == {
        "read": [
            Record("a", "orders-eu@0", 10),
            Record("a", "orders-us@0", 11),
            Record("b", "orders-eu@1", 12),
            Record("a", "orders-us@1", 13),
        ],
        "counts": [Record("a", 1, 10), Record("a", 2, 11), Record("b", 1, 12), Record("a", 3, 13)],
    }
    assert metrics["KSTREAM-SOURCE-0000000000"]["records_in"] == 4


def test_topology_reads_a_pattern_in_the_processor_api(runtime):
    class Upper(hr.Processor):
        def process(self, record):
            self.context.forward(record.with_value(record.value.upper()))

    topology = hr.Topology().add_source("orders", re.compile("(eu|us)-orders"), value_serde=serdes.String())
    topology.add_processor("upper", Upper, parents="orders").add_sink("out", "out", "upper")
    outputs, _ = runtime.run(topology, [("eu-orders", "a", "x", 1), ("us-orders", "b", "y", 2)])
    assert outputs == {"out": [Record("a", "X", 1), Record("b", "Y", 2)]}


def test_extractor_of_a_pattern_gets_the_partition_time_of_each_topic(runtime):
    times = []

    def extract(record, partition_time_ms):
        times.append((record.topic, partition_time_ms))
        return record.value

    builder = StreamsBuilder()
    builder.stream(ORDERS, timestamp_extractor=extract).to("out")
    inputs = [("orders-eu", "a", 5, 1), ("orders-us", "a", 6, 2), ("orders-eu", "a", 7, 3)]
    outputs, _ = runtime.run(builder.build(), inputs)
    assert outputs == {"out": [Record("a", 5, 5), Record("a", 6, 6), Record("a", 7, 7)]}
    if runtime.name == "driver":
        assert times == [("orders-eu", -1), ("orders-us", -1), ("orders-eu", 5)]


def test_windows_and_tables_after_a_pattern(runtime):
    builder = StreamsBuilder()
    orders = builder.stream(ORDERS)
    windows = TimeWindows.of(timedelta(milliseconds=10))
    orders.group_by(lambda _, value: value).windowed_by(windows).count().to_stream().map(
        lambda key, value: (f"{key.key}@{key.window.start_ms}", value)
    ).to("windows")
    orders.to_table(store="last").to_stream().to("last")
    inputs = [("orders-eu", "a", "x", 1), ("orders-us", "b", "x", 9), ("orders-us", "a", "y", 12)]
    outputs, _ = runtime.run(builder.build(), inputs)
    assert outputs == {
        "windows": [Record("x@0", 1, 1), Record("x@0", 2, 9), Record("y@10", 1, 12)],
        "last": [Record("a", "x", 1), Record("b", "x", 9), Record("a", "y", 12)],
    }


def test_pattern_matches_whole_names_and_never_the_output_of_the_application(runtime):
    builder = StreamsBuilder()
    builder.stream(re.compile("orders(-eu)?|.*-all")).to("orders-all")
    outputs, _ = runtime.run(builder.build(), [("orders", "a", 1, 1), ("orders-eu", "b", 2, 2)])
    assert outputs == {"orders-all": [Record("a", 1, 1), Record("b", 2, 2)]}


def test_driver_reads_a_topic_that_matches_later_without_losing_fields_of_processors():
    class Numbered(hr.Processor):
        def init(self, context):
            super().init(context)
            self.number = 0

        def process(self, record):
            self.number += 1
            self.context.forward(record.with_value(self.number))

    builder = StreamsBuilder()
    builder.stream(ORDERS).process(Numbered).to("out")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("orders-eu").pipe("a", 1, timestamp_ms=1)
        driver.input_topic("orders-us").pipe("a", 1, timestamp_ms=2)
        driver.input_topic("orders-eu").pipe("a", 1, timestamp_ms=3)
        assert [record.value for record in driver.output_topic("out").read_all()] == [1, 2, 3]
        with pytest.raises(hr.TopicError) as unknown:
            driver.input_topic("payments")
        assert str(unknown.value) == "The topology does not read topic 'payments'. It reads: 'orders-.*'."
        with pytest.raises(hr.TopicError, match="does not read topic 'out'"):
            driver.input_topic("out")


def test_same_pattern_is_read_once_and_shared():
    builder = StreamsBuilder()
    builder.stream(ORDERS).to("one")
    builder.stream(re.compile("orders-.*")).to("two")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("orders-eu").pipe("a", 1, timestamp_ms=1)
        assert [len(driver.output_topic(topic).read_all()) for topic in ("one", "two")] == [1, 1]


MATCHED = (
    "Topic 'orders-eu' matches the pattern 'orders-.*', and one of the two is already read by source "
    "'KSTREAM-SOURCE-0000000000'. A topic can be read only once"
)


@pytest.mark.parametrize("first", ["topic", "pattern"])
def test_topic_that_is_read_by_name_must_not_match_a_pattern(first):
    builder = StreamsBuilder()
    sources = ["orders-eu", ORDERS]
    for source in sources if first == "topic" else reversed(sources):
        if builder._graph.sources():
            with pytest.raises(hr.TopologyError) as refused:
                builder.stream(source)
            assert str(refused.value).startswith(MATCHED)
        else:
            builder.stream(source)


def test_wildcard_does_not_collide_with_repartitions_of_the_topology():
    builder = StreamsBuilder()
    everything = builder.stream(re.compile(".*"))
    by_value = everything.select_key(lambda _, value: value)
    by_value.join(by_value.group_by_key().count(), lambda value, count: f"{value}{count}").to("out")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("any").pipe("a", "x", timestamp_ms=1)
        assert driver.output_topic("out").read_all() == [Record("x", "x1", 1)]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda builder: builder.table(ORDERS),
            "table() was given the pattern 'orders-.*'; as in Kafka Streams, a table reads one topic",
        ),
        (lambda builder: builder.global_table(ORDERS), "global_table() was given the pattern 'orders-.*'"),
        (lambda builder: builder.stream(re.compile(b"x")), "stream() was given a pattern of bytes, b'x'"),
        (
            lambda _: hr.Topology().add_source("s", ORDERS, "more"),
            "Source 's' was given a pattern together with other topics or patterns",
        ),
        (
            lambda _: hr.Topology().add_source("s", ORDERS).add_source("t", ORDERS),
            "Source 't' names the pattern 'orders-.*', which another source reads already.",
        ),
        (
            lambda _: hr.Topology().add_source("s", ORDERS).add_source("t", "orders-eu"),
            "Topic 'orders-eu' matches the pattern 'orders-.*', and one of the two is already read by source 's'.",
        ),
        (
            lambda builder: (builder.stream(ORDERS), builder.stream(ORDERS, value_serde=serdes.String())),
            "Pattern 'orders-.*' is already read by source 'KSTREAM-SOURCE-0000000000' with other serdes, extractor or",
        ),
        (
            lambda builder: builder.stream("a", offset_reset="first"),
            "offset_reset of stream() is 'first'; allowed: 'earliest', 'latest', 'none', or AutoOffsetReset.by_dur",
        ),
        (
            lambda builder: (builder.stream("a", offset_reset="latest"), builder.table("a")),
            "Topic 'a' is already read by source 'KSTREAM-SOURCE-0000000000' with other serdes, extractor or offset",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_when_the_topology_is_built(build, message):
    with pytest.raises(hr.TopologyError) as refused:
        build(StreamsBuilder())
    assert str(refused.value).startswith(message)


def test_topic_that_matches_two_patterns_is_refused():
    builder = StreamsBuilder()
    builder.stream(ORDERS).to("out")
    builder.stream(re.compile(".*-eu")).to("out")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("orders-us").pipe("a", 1, timestamp_ms=1)
        with pytest.raises(hr.TopicError) as refused:
            driver.input_topic("orders-eu")
    assert str(refused.value) == (
        "Topic 'orders-eu' matches the patterns of two sources: 'orders-.*' of 'KSTREAM-SOURCE-0000000000' and '.*-eu' "
        "of 'KSTREAM-SOURCE-0000000002'. A topic can be read only once: change the patterns so that no topic matches "
        "both."
    )


def test_descriptions_show_the_pattern():
    builder = StreamsBuilder()
    builder.stream(ORDERS).to("out")
    topology = builder.build()
    assert repr(topology) == "<Topology orders-.* -> out>"
    assert "Source: KSTREAM-SOURCE-0000000000 (topics: orders-.*)\n" in topology.describe()
    assert '(["orders-.*"])' in topology.to_mermaid()
