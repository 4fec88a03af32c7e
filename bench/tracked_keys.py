"""Case `tracked-keys`: the cost of a batch when each of 2,000,000 keys has its own clock, against one clock for all.

Counts per key and hour. All keys have a record before the first round, so with tracking the store of their times has a
row for each. The batches then update random keys; event time advances by a minute per batch, across a full hour.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import headrace as hr
from bench.harness import Contender, WorkerMemory, alternate, catch_up, save, table, warm_batches
from headrace import serdes

TOUCHED = 100_000
PRELOADED = 500_000
HOUR = timedelta(hours=1)
MINUTE_MS = 60_000
FIRST_MS = 1_748_736_000_000 + 55 * MINUTE_MS  # 2025-06-01, 00:55


def run(spark: Any, directory: Path, *, quick: bool) -> None:
    keys, rounds, batches = (200_000, 2, 3) if quick else (2_000_000, 3, 4)
    print(f"tracked-keys: {keys:,} keys, batches of {TOUCHED:,} records")
    memory = {keys // 2: _memory_mb(spark, directory / "half", keys // 2)}
    each, one = (Keys(spark, directory / str(tracking), keys, batches, tracking=tracking) for tracking in (True, False))
    contenders = [Contender("clock-for-each", each), Contender("one-clock", one)]
    alternate(contenders, rounds)
    table(f"counts per key and hour, {keys:,} keys", contenders)
    slowdown = contenders[1].rate / contenders[0].rate
    print(f"  batch time with a clock for each key is {slowdown:.2f}x that with one clock")
    print(f"  preloading took {each.preloaded_in_s:.0f} s and {one.preloaded_in_s:.0f} s")
    print(f"  private memory of the largest worker: {each.memory_mb:,.0f} MB and {one.memory_mb:,.0f} MB")
    memory |= {keys: each.memory_mb, 2 * keys: _memory_mb(spark, directory / "double", 2 * keys)}
    print("  with a clock for each of " + ", ".join(f"{number:,} keys {mb:,.0f} MB" for number, mb in memory.items()))
    save(
        "tracked-keys",
        {contender.name: contender.rate for contender in contenders},
        {
            "keys": keys,
            "batch_time_ratio": round(slowdown, 2),
            "preload_s_clock_for_each": round(each.preloaded_in_s),
            "preload_s_one_clock": round(one.preloaded_in_s),
            "worker_mb_clock_for_each": round(each.memory_mb),
            "worker_mb_one_clock": round(one.memory_mb),
            "worker_mb_by_keys": {f"{number}": round(mb) for number, mb in memory.items()},
        },
    )


def _memory_mb(spark: Any, directory: Path, keys: int) -> float:
    """The memory of a worker for `keys` keys with a clock each. As workers are reused, call it with rising numbers."""
    contender = Keys(spark, directory, keys, 2, tracking=True)
    contender(0)
    return contender.memory_mb


class Keys:
    """An application that has counted every key once before the first round."""

    def __init__(self, spark: Any, directory: Path, keys: int, batches: int, *, tracking: bool) -> None:
        self._spark, self._directory, self._tracking = spark, directory, tracking
        self._keys, self._batches = keys, batches
        self._rng = random.Random(keys)
        self._topics = hr.LocalTopics(directory / "topics")
        self._topics.create("in", partitions=1)
        builder = hr.StreamsBuilder()
        windows = hr.TimeWindows.of(HOUR, grace=HOUR)
        windowed = builder.stream("in", value_serde=serdes.Long()).group_by_key().windowed_by(windows)
        windowed.count(store="counts", name="counter").to_stream().to("out")
        self._topology = builder.build()
        self._at_ms = FIRST_MS
        self.memory_mb = 0.0
        started = time.perf_counter()
        self._process(range(keys), PRELOADED)
        self.preloaded_in_s = time.perf_counter() - started

    def __call__(self, number: int) -> list[tuple[int, float]]:  # noqa: ARG002
        with WorkerMemory() as memory:
            for _ in range(self._batches + 1):
                self._at_ms += MINUTE_MS
                self._produce(self._rng.randrange(self._keys) for _ in range(TOUCHED))
            seconds = self._run(TOUCHED)
        self.memory_mb = max(self.memory_mb, memory.peak_mb)
        return warm_batches(seconds, TOUCHED)

    def _process(self, numbers: Iterable[int], limit: int) -> None:
        self._produce(numbers)
        self._run(limit)

    def _produce(self, numbers: Iterable[int]) -> None:
        records = (hr.Record(f"key-{number:016}", 1, self._at_ms) for number in numbers)
        self._topics.produce("in", records, value_serde=serdes.Long())

    def _run(self, limit: int) -> list[float]:
        config = hr.StreamsConfig(
            application_id="bench-keys",
            topics_dir=self._directory / "topics",
            state_dir=self._directory / "state",
            local_dir=self._directory / "local",
            max_records_per_batch=limit,
            allow_stream_time_key_tracking=self._tracking,
        )
        return catch_up(self._topology, config, self._spark)
