"""A pattern of topics on Spark: topics that appear between two runs, and while the application runs."""

from __future__ import annotations

import re

import pytest

import headrace as hr
from headrace import serdes
from tests.spark.waiting import wait_until
from tests.support.runtimes import SparkRuntime

pytestmark = pytest.mark.spark

TEXT = {"value_serde": serdes.String()}


@pytest.fixture
def runtime(spark, tmp_path):
    return SparkRuntime(spark, tmp_path)


def counting():
    builder = hr.StreamsBuilder()
    orders = builder.stream(re.compile("orders-.*"), **TEXT)
    counts = orders.group_by(lambda _, value: value, **TEXT, name="by-value").count(store="counts")
    counts.to_stream().to("counts", value_serde=serdes.Long())
    return builder.build()


def produce(runtime, topic, partitions, *records):
    runtime.topics.create(topic, partitions=partitions, exist_ok=True)
    runtime.topics.produce(topic, [hr.Record(*record) for record in records], **TEXT)


def counts(runtime):
    if "counts" not in runtime.topics.list():
        return []
    return [(r.key, r.value, r.timestamp_ms) for r in runtime.topics.read("counts", value_serde=serdes.Long())]


def test_running_application_reads_topics_that_appear(runtime):
    app = hr.Streams(counting(), runtime.config(), spark=runtime.spark)
    app.start()
    try:
        produce(runtime, "orders-eu", 1, ("k", "x", 1))
        wait_until(lambda: counts(runtime) == [("x", 1, 1)], app)
        produce(runtime, "orders-us", 3, ("k", "x", 2), ("k", "x", 3))
        wait_until(lambda: len(counts(runtime)) == 3, app)
        produce(runtime, "orders-eu", 1, ("k", "x", 4))
        wait_until(lambda: len(counts(runtime)) == 4, app)
    finally:
        app.stop()
    assert counts(runtime) == [("x", 1, 1), ("x", 2, 2), ("x", 3, 3), ("x", 4, 4)]
    assert app.store("counts").get("x") == 4


@pytest.mark.slow
@pytest.mark.parametrize("spark_partitions", [1, 2])
def test_catch_up_runs_read_the_topics_that_exist(runtime, spark_partitions):
    config = runtime.config(spark_partitions=spark_partitions)
    produce(runtime, "orders-eu", 2, ("k", "x", 1), ("l", "y", 2))
    hr.Streams(counting(), config, spark=runtime.spark).process_available()
    produce(runtime, "orders-us", 5, ("k", "x", 3))
    produce(runtime, "payments", 9, ("k", "x", 4))
    hr.Streams(counting(), config, spark=runtime.spark).process_available()
    assert sorted(counts(runtime)) == [("x", 1, 1), ("x", 2, 3), ("y", 1, 2)]
