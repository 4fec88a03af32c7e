"""Case `day-of-readings`: 500 devices upload 24 hours of minute readings, one device after the other.

Final results of five-minute windows with a grace of ten minutes. With one clock most readings are late and dropped, so
there is less to do. To see what a clock for each key costs, compare it with `one-clock-live`: one clock over the same
readings in the order in which they were taken.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import headrace as hr
from bench.harness import Contender, alternate, batch_seconds, save, table, warm_batches
from headrace import serdes

MINUTES = 24 * 60
BATCHES = 6


def run(spark: Any, directory: Path, *, quick: bool) -> None:
    devices, rounds = (100, 1) if quick else (500, 2)
    days = {
        "clock-for-each": Day(spark, directory / "each", devices, tracking=True, live=False),
        "one-clock-live": Day(spark, directory / "live", devices, tracking=False, live=True),
        "one-clock": Day(spark, directory / "one", devices, tracking=False, live=False),
    }
    contenders = [Contender(name, day) for name, day in days.items()]
    print(f"day-of-readings: {devices} devices, {devices * MINUTES:,} readings, in {BATCHES} batches")
    alternate(contenders, rounds)
    table("five-minute windows of a day of readings, final results", contenders)
    for name, day in days.items():
        print(f"  {name}: {day.late:,} late readings dropped, {day.results:,} final results")
    save(
        "day-of-readings",
        {contender.name: contender.rate for contender in contenders},
        {
            "readings": devices * MINUTES,
            "late_dropped": {name: day.late for name, day in days.items()},
            "final_results": {name: day.results for name, day in days.items()},
        },
    )


def device_readings(device: int) -> list[hr.Record[str, int]]:
    """One reading per minute, up to eight minutes out of order."""
    rng = random.Random(device)
    key = f"device-{device:03}"
    times = [minute * 60_000 + rng.randrange(60_000) for minute in range(MINUTES)]
    return [
        hr.Record(key, rng.randrange(3_000), at) for at in sorted(times, key=lambda at: at + rng.randrange(480_000))
    ]


def by_device(devices: int) -> Iterator[hr.Record[str, int]]:
    for device in range(devices):
        yield from device_readings(device)


def by_time(devices: int) -> Iterator[hr.Record[str, int]]:
    """The readings of all devices merged by time; those of one device stay out of order."""
    return heapq.merge(*map(device_readings, range(devices)), key=lambda record: record.timestamp_ms)


class Day:
    """One contender: each round is a new application over the same topic."""

    def __init__(self, spark: Any, directory: Path, devices: int, *, tracking: bool, live: bool) -> None:
        self._spark, self._directory, self._tracking = spark, directory, tracking
        self._records = devices * MINUTES // BATCHES
        topics = hr.LocalTopics(directory / "topics")
        topics.create("in", partitions=4)
        topics.produce("in", by_time(devices) if live else by_device(devices), value_serde=serdes.Long())
        windows = hr.TimeWindows.of(timedelta(minutes=5), grace=timedelta(minutes=10))
        builder = hr.StreamsBuilder()
        (
            builder.stream("in", value_serde=serdes.Long())
            .group_by_key()
            .windowed_by(windows)
            .aggregate(lambda: [0, 0], _fold, value_serde=serdes.Json(), name="load")
            .suppress(hr.Suppressed.until_window_closes())
            .to_stream()
            .to("out")
        )
        self._topology = builder.build()
        self.late = self.results = 0

    def __call__(self, number: int) -> list[tuple[int, float]]:
        config = hr.StreamsConfig(
            application_id=f"bench-day-{number}",
            topics_dir=self._directory / "topics",
            state_dir=self._directory / f"state-{number}",
            local_dir=self._directory / f"local-{number}",
            max_records_per_batch=self._records,
            allow_stream_time_key_tracking=self._tracking,
        )
        app = hr.Streams(self._topology, config, spark=self._spark)
        app.process_available()
        metrics = app.metrics()
        self.late = metrics.get("load", {}).get("dropped", {}).get("late", 0)
        self.results = metrics["topic out"]["records_out"]
        return warm_batches(batch_seconds(config), self._records)


def _fold(_: str, watts: int, load: list[int]) -> list[int]:
    return [load[0] + 1, load[1] + watts]
