"""The test driver and its topics."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_type

from headrace import Pending, Record, StreamsBuilder, serdes
from headrace.testing import TestInputTopic, TestOutputTopic, TopologyTestDriver, run_stream, run_table
from tests.typing.model import Sale

with TopologyTestDriver(StreamsBuilder().build()) as driver:
    assert_type(driver, TopologyTestDriver)
    assert_type(driver.input_topic("in"), TestInputTopic[Any, Any])
    sales = driver.input_topic("in", serdes.String(), serdes.Json(Sale))
    assert_type(sales, TestInputTopic[str, Sale])
    sales.pipe("a", Sale("ann", 30), timestamp_ms=12)
    sales.pipe("a", None)
    assert_type(driver.output_topic("out").read_all(), list[Record[Any, Any]])
    assert_type(driver.output_topic("out", value_serde=serdes.Json(Sale)), TestOutputTopic[Any, Sale])
    cents = [record.value.cents for record in driver.output_topic("out", value_serde=serdes.Json(Sale)).read_all()]
    assert_type(cents, list[int])
    driver.advance_wall_clock(timedelta(seconds=1))
    driver.restart()
    assert_type(driver.explain_pending("counts"), list[Pending])
    assert_type(driver.metrics(), dict[str, dict[str, Any]])
    driver.close()

assert_type(run_stream(lambda stream: stream.map_values(lambda value: 1), ("a", "x", 5)), list[Record[str, int]])
assert_type(run_table(lambda table: table.map_values(lambda value: 1), ("a", "x", 5)), list[Record[str, int]])
