"""The day of readings: devices that were offline each send all they measured, one device after the other.

With a clock for each key nothing is late, and the final results are those of a batch computation over the same
readings, for every window that has closed by its device's own clock. With one clock for all, what is lost is counted.
"""

from __future__ import annotations

import random
from datetime import timedelta
from typing import NamedTuple

import pytest

import headrace as hr
from headrace import serdes
from tests.support.runtimes import SparkRuntime

pytestmark = pytest.mark.spark

MINUTE_MS = 60_000
SIZE_MS, GRACE_MS = 5 * MINUTE_MS, 10 * MINUTE_MS
MIDNIGHT_MS = 1_748_736_000_000  # 2025-06-01, UTC
DISORDER_MS = 8 * MINUTE_MS  # less than the grace: no reading is late by its device's own clock
SERDES = {"key_serde": serdes.WindowedKey(serdes.String(), SIZE_MS), "value_serde": serdes.Json()}

SMALL = (12, 4)
FULL = pytest.param((500, 24), marks=pytest.mark.slow)
SIZES = pytest.mark.parametrize("size", [SMALL, FULL], ids=["12 devices, 4 hours", "500 devices, 24 hours"])


class Reading(NamedTuple):
    device: str
    watts: int
    timestamp_ms: int


class Result(NamedTuple):
    device: str
    start_ms: int
    readings: int
    watts: int
    highest: int
    timestamp_ms: int


def readings_of(device, hours):
    """One reading per minute, sent a few minutes out of order."""
    rng = random.Random(device)
    minutes = range(MIDNIGHT_MS, MIDNIGHT_MS + hours * 60 * MINUTE_MS, MINUTE_MS)
    measured = [Reading(f"device-{device:03}", rng.randrange(3_000), at + rng.randrange(MINUTE_MS)) for at in minutes]
    return sorted(measured, key=lambda reading: reading.timestamp_ms + rng.randrange(DISORDER_MS))


def dump(size):
    devices, hours = size
    return [reading for device in range(devices) for reading in readings_of(device, hours)]


def folded(_device, watts, load):
    readings, total, highest = load
    return [readings + 1, total + watts, max(highest, watts)]


def topology():
    builder = hr.StreamsBuilder()
    windows = hr.TimeWindows.of(timedelta(milliseconds=SIZE_MS), grace=timedelta(milliseconds=GRACE_MS))
    (
        builder.stream("readings", value_serde=serdes.Long())
        .group_by_key()
        .windowed_by(windows)
        .aggregate(lambda: [0, 0, 0], folded, store="loads", value_serde=serdes.Json(), name="load")
        .suppress(hr.Suppressed.until_window_closes(), name="final")
        .to_stream()
        .to("load")
    )
    return builder.build()


def processed(spark, directory, readings, *, tracking):
    """Processes all readings, in batches that cut through devices and windows; returns the application."""
    runtime = SparkRuntime(spark, directory)
    runtime.topics.create("readings", partitions=4)
    records = (hr.Record(reading.device, reading.watts, reading.timestamp_ms) for reading in readings)
    runtime.topics.produce("readings", records, value_serde=serdes.Long())
    config = runtime.config(allow_stream_time_key_tracking=tracking, max_records_per_batch=len(readings) // 3 + 7)
    app = hr.Streams(topology(), config, spark=spark)
    app.process_available()
    return app, [
        Result(record.key.key, record.key.window.start_ms, *record.value, record.timestamp_ms)
        for record in runtime.topics.read("load", **SERDES)
    ]


def by_batch(spark, directory, readings):
    """The results that plain Spark SQL computes from all readings at once, and the last timestamp of each device."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql import functions as F

    columns = dict(zip(Reading._fields, map(list, zip(*readings, strict=True)), strict=True))
    pq.write_table(pa.table(columns), directory / "readings.parquet")
    frame = spark.read.parquet(str(directory / "readings.parquet"))
    window = F.window(F.timestamp_millis("timestamp_ms"), f"{SIZE_MS} milliseconds")
    loads = frame.groupBy("device", window.alias("window")).agg(
        F.unix_millis("window.start"), F.count("*"), F.sum("watts"), F.max("watts"), F.max("timestamp_ms")
    )
    clocks = frame.groupBy("device").agg(F.max("timestamp_ms"))
    return [Result(*row) for row in loads.drop("window").collect()], dict(map(tuple, clocks.collect()))


def counters(app):
    """The counters of operators and topics, without the figures about batches."""
    return {name: figures for name, figures in app.metrics().items() if name != "application"}


@SIZES
def test_with_a_stream_time_per_device_results_equal_those_of_a_batch_computation(spark, tmp_path, size):
    readings = dump(size)
    app, results = processed(spark, tmp_path, readings, tracking=True)
    batch, clocks = by_batch(spark, tmp_path, readings)
    closed = {result for result in batch if result.start_ms + SIZE_MS + GRACE_MS <= clocks[result.device]}
    assert {device for device, *_ in closed} == set(clocks)
    assert sorted(results) == sorted(closed)
    assert counters(app) == {
        "KSTREAM-SOURCE-0000000000": {"records_in": len(readings)},
        "topic load": {"records_out": len(closed)},
    }
    waiting = {
        Result(row.key.key, row.key.window.start_ms, *row.value, row.timestamp_ms)
        for row in app.store("final-store").all()
    }
    assert waiting == set(batch) - closed
    assert dict(app.store("load-stream-time-table").all()) == clocks


@SIZES
def test_with_one_stream_time_every_missing_reading_is_counted_as_late(spark, tmp_path, size):
    readings = dump(size)
    app, results = processed(spark, tmp_path, readings, tracking=False)
    metrics = counters(app)
    written = sum(result.readings for result in results)
    waiting = sum(row.value[0] for row in app.store("final-store").all())
    late = metrics["load"]["dropped"]["late"]
    assert metrics == {
        "KSTREAM-SOURCE-0000000000": {"records_in": len(readings)},
        "load": {"dropped": {"late": late}},
        "topic load": {"records_out": len(results)},
    }
    assert late + written + waiting == len(readings)
    # Only the first device of each of the four partitions is complete.
    assert late > len(readings) / 2


def test_state_does_not_continue_with_a_changed_tracking_setting(spark, tmp_path):
    readings = dump((2, 1))
    processed(spark, tmp_path, readings, tracking=False)
    config = SparkRuntime(spark, tmp_path).config(allow_stream_time_key_tracking=True)
    with pytest.raises(hr.StateError, match="with a time for each key \\(allow_stream_time_key_tracking\\)"):
        hr.Streams(topology(), config, spark=spark).process_available()
