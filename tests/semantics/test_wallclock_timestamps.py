"""`wallclock_timestamp`: records get the time of their micro-batch, the same again if it is repeated."""

from __future__ import annotations

from datetime import timedelta
from time import time_ns

import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver
from tests.support.plan_runner import PlanRunner
from tests.support.runtimes import PlanRuntime, SparkRuntime


def copied(**options):
    builder = hr.StreamsBuilder()
    builder.stream("in", **options).to("out")
    return builder.build()


def test_records_get_the_wall_clock_of_the_driver():
    by_default = hr.StreamsConfig(application_id="test", default_timestamp_extractor=hr.wallclock_timestamp)
    for topology, config in [
        (copied(timestamp_extractor=hr.wallclock_timestamp), None),
        (copied(), by_default),
        (copied(timestamp_extractor=lambda record, _: record.system_time_ms), None),
    ]:
        with TopologyTestDriver(topology, config, wall_clock_ms=1000) as driver:
            driver.input_topic("in").pipe("k", "v", 7)
            driver.advance_wall_clock(timedelta(milliseconds=50))
            driver.input_topic("in").pipe("k", "w", 7000)
            assert driver.output_topic("out").read_all() == [hr.Record("k", "v", 1000), hr.Record("k", "w", 1050)]


def test_all_records_of_a_batch_get_the_time_at_which_it_was_planned(tmp_path):
    topology = copied(timestamp_extractor=hr.wallclock_timestamp)
    runtime = PlanRuntime(tmp_path)
    runtime.produce(topology, [("in", "k", 1, 7)])
    runner = PlanRunner(topology, tmp_path, config=runtime.config())
    for runner.clock_ms, batch in [(500, [("in", "k", 2, 9)]), (501, [("in", "k", 3, 8)])]:
        runtime.produce(topology, batch)
        runner.run_batch(limit=100)
    assert runtime.outputs(topology)["out"] == [
        hr.Record("k", 1, 500),
        hr.Record("k", 2, 500),
        hr.Record("k", 3, 501),
    ]


def test_rows_of_a_global_table_get_the_time_of_the_batch_too(tmp_path):
    rows = hr.Stores.timestamped_key_value("rows")
    builder = hr.StreamsBuilder()
    table = builder.global_table("table", store=rows, timestamp_extractor=hr.wallclock_timestamp)
    builder.stream("in").join(table, lambda value, row: f"{value}/{row}").to("out", value_serde=serdes.Json())
    topology, runtime = builder.build(), PlanRuntime(tmp_path)
    runtime.produce(topology, [("table", "k", "row", 1), ("in", "k", "v", 2)])
    runner = PlanRunner(topology, tmp_path, config=runtime.config())
    for runner.clock_ms in (500, 501):
        runner.run_batch(limit=1)
    rows_now = hr.Streams(topology, runtime.config()).store(rows)
    assert rows_now.get_with_timestamp("k") == hr.ValueAndTimestamp("row", 500)


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark_a_batch_has_the_time_of_the_clock(spark, tmp_path):
    topology = copied(timestamp_extractor=hr.wallclock_timestamp)
    before_ms = time_ns() // 1_000_000
    outputs, _ = SparkRuntime(spark, tmp_path).run(topology, [("in", "k", "v", 7), ("in", "k", "w", 5)])
    first, second = outputs["out"]
    assert before_ms <= first.timestamp_ms == second.timestamp_ms <= time_ns() // 1_000_000
