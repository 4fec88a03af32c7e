"""KIP-259. The timestamp of a result follows from its input records, never from when it was computed.

The rule: results of one record have that record's timestamp. An aggregate has the highest timestamp of all records
folded into it since it last became non-null, however late the last one came. This timestamp is in the store, survives
repartitions and restarts, and is the timestamp of the record in the output topic.
"""

from __future__ import annotations

import pytest

import headrace as hr
import headrace.testing
from headrace import Record, StreamsBuilder
from tests.support.runtimes import DriverRuntime

TIMES = (1, 2, 5, 6, 4, 3, 7, 9)
HIGHEST = (1, 2, 5, 6, 6, 6, 7, 9)


def records(*times):
    return [("in", "k", "v", timestamp_ms) for timestamp_ms in times]


def timestamps(outputs):
    return [record.timestamp_ms for record in outputs["out"]]


STREAM_OPERATORS = {
    "filter": lambda stream: stream.filter(lambda key, value: True),
    "filter_not": lambda stream: stream.filter_not(lambda key, value: False),
    "map": lambda stream: stream.map(lambda key, value: (key, value)),
    "map_values": lambda stream: stream.map_values(str),
    "flat_map": lambda stream: stream.flat_map(lambda key, value: [(key, value)]),
    "flat_map_values": lambda stream: stream.flat_map_values(lambda value: [value]),
    "select_key": lambda stream: stream.select_key(lambda key, value: value),
    "repartition": lambda stream: stream.repartition("again"),
    "merge": lambda stream: stream.filter(lambda key, value: False).merge(stream),
    "split": lambda stream: stream.split().default(name="all")["all"],
    "to_table": lambda stream: stream.to_table().to_stream(),
    "table filter": lambda stream: stream.to_table().filter(lambda key, value: True).to_stream(),
    "table filter_not": lambda stream: stream.to_table().filter_not(lambda key, value: False).to_stream(),
    "table map_values": lambda stream: stream.to_table().map_values(str).to_stream(),
}


@pytest.mark.parametrize("operator", STREAM_OPERATORS)
def test_all_results_of_one_record_have_its_timestamp(operator):
    found = hr.testing.run_stream(STREAM_OPERATORS[operator], *(record[1:] for record in records(*TIMES)))
    assert [record.timestamp_ms for record in found] == list(TIMES)


def test_all_records_of_one_flat_map_share_the_timestamp():
    found = hr.testing.run_stream(lambda stream: stream.flat_map_values(list), ("k", "ab", 7))
    assert found == [Record("k", "a", 7), Record("k", "b", 7)]


AGGREGATIONS = {
    "count": lambda grouped: grouped.count(),
    "reduce": lambda grouped: grouped.reduce(lambda total, value: total),
    "aggregate": lambda grouped: grouped.aggregate(int, lambda key, value, total: total),
}
TABLE_AGGREGATIONS = {
    "count": lambda grouped: grouped.count(),
    "reduce": lambda grouped: grouped.reduce(lambda total, value: total, lambda total, value: total),
    "aggregate": lambda grouped: grouped.aggregate(
        int, lambda key, value, total: total, lambda key, value, total: total
    ),
}


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_an_aggregate_of_a_stream_has_the_highest_timestamp_so_far(aggregation):
    builder = StreamsBuilder()
    AGGREGATIONS[aggregation](builder.stream("in").group_by_key()).to_stream().to("out")
    outputs, _ = DriverRuntime().run(builder.build(), records(*TIMES))
    assert timestamps(outputs) == list(HIGHEST)


@pytest.mark.parametrize("aggregation", TABLE_AGGREGATIONS)
def test_an_aggregate_of_a_table_has_the_highest_timestamp_so_far(aggregation):
    builder = StreamsBuilder()
    table = builder.table("in").group_by(lambda key, value: (key, value))
    TABLE_AGGREGATIONS[aggregation](table).to_stream().to("out")
    outputs, _ = DriverRuntime().run(builder.build(), records(*TIMES))
    assert timestamps(outputs) == list(HIGHEST)


def test_timestamps_arrive_in_the_output_topic_through_table_repartition_and_state(runtime):
    builder = StreamsBuilder()
    per_group = builder.table("in").group_by(lambda key, value: ("all", value)).count()
    per_group.map_values(lambda count: -count).to_stream().to("out")
    outputs, _ = runtime.run(builder.build(), records(*TIMES))
    assert outputs["out"] == [Record("all", -1, timestamp_ms) for timestamp_ms in HIGHEST]


def test_the_stored_timestamp_survives_a_restart():
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
    with hr.testing.TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "v", 9)
        driver.restart()
        driver.input_topic("in").pipe("k", "v", 3)
        assert driver.output_topic("out").read_all() == [Record("k", 1, 9), Record("k", 2, 9)]
        assert driver.store("counts").get_with_timestamp("k") == (2, 9)
