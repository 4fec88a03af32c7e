"""The test driver and its topics."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_type

from headrace import Pending, Record, StreamsBuilder, serdes
from headrace.testing import (
    TestInputTopic,
    TestOutputTopic,
    TestStore,
    TopologyTestDriver,
    run_stream,
    run_table,
)
from tests.typing.model import Sale

with TopologyTestDriver(StreamsBuilder().build()) as driver:
    assert_type(driver, TopologyTestDriver)
    assert_type(driver.input_topic("in"), TestInputTopic[Any, Any])
    sales = driver.input_topic("in", serdes.String(), serdes.Json(Sale))
    assert_type(sales, TestInputTopic[str, Sale])
    sales.pipe("a", Sale("ann", 30), timestamp_ms=12)
    sales.pipe("a", None)
    sales.pipe("a", None, 12, [("trace", b"1"), ("none", None)], partition=2)
    sales.pipe(Record("a", Sale("ann", 30), 12))
    sales.pipe(Record(None, None))
    sales.pipe_values([Sale("ann", 30), None], start_timestamp_ms=12, advance=timedelta(seconds=1))
    sales.pipe_key_values([("a", Sale("ann", 30)), (None, None)])
    sales.pipe_records([Record("a", Sale("ann", 30), 12)])
    timed = driver.input_topic("in", start_timestamp_ms=100, auto_advance=timedelta(milliseconds=10))
    timed.advance_time(timedelta(seconds=1))
    assert_type(driver.output_topic("out").read_all(), list[Record[Any, Any]])
    assert_type(driver.output_topic("out", value_serde=serdes.Json(Sale)), TestOutputTopic[Any, Sale])
    cents = [record.value.cents for record in driver.output_topic("out", value_serde=serdes.Json(Sale)).read_all()]
    assert_type(cents, list[int])
    out = driver.output_topic("out", serdes.String(), serdes.Json(Sale))
    assert_type(out.read_record(), Record[str, Sale])
    assert_type(out.read(), Record[str, Sale])
    assert_type(out.read_value(), Sale)
    assert_type(out.read_key_value(), tuple[str, Sale])
    assert_type(out.read_values(), list[Sale])
    assert_type(out.read_key_values(), list[tuple[str, Sale]])
    assert_type(out.read_key_values_as_dict(), dict[str, Sale])
    assert_type(out.is_empty(), bool)
    assert_type(out.queue_size(), int)
    assert_type(len(out), int)
    assert_type([record.value for record in out], list[Sale])
    assert_type(driver.produced_topics(), set[str])
    assert_type(driver.stores(), dict[str, Any])
    advanced: TestStore = driver.stores()["counts"]
    driver.advance_wall_clock(timedelta(seconds=1))
    driver.restart()
    assert_type(driver.explain_pending("counts"), list[Pending])
    assert_type(driver.metrics(), dict[str, dict[str, Any]])
    driver.close()

TopologyTestDriver(StreamsBuilder().build(), wall_clock_ms=5, partitions=3)
TopologyTestDriver(StreamsBuilder().build(), partitions={"in": 2})

assert_type(run_stream(lambda stream: stream.map_values(lambda value: 1), ("a", "x", 5)), list[Record[str, int]])
assert_type(run_table(lambda table: table.map_values(lambda value: 1), ("a", "x", 5)), list[Record[str, int]])
