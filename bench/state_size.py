"""Case `state-size`: what a batch of 10,000 touched keys costs with 10,000 and with 1,000,000 keys in the store."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import headrace as hr
from bench.harness import Contender, WorkerMemory, alternate, caught_up, save, table, warm
from headrace import serdes

TOUCHED = 10_000


def run(spark: Any, directory: Path, *, quick: bool) -> None:
    rounds, batches = (2, 3) if quick else (3, 8)
    small, large = (Sized(spark, directory / str(keys), keys, batches) for keys in (TOUCHED, 1_000_000))
    contenders = [Contender("10,000 keys in store", small), Contender("1,000,000 keys in store", large)]
    print("state-size: batches of 10,000 records")
    alternate(contenders, rounds)
    table("batches of 10,000 touched keys", contenders)
    slowdown = contenders[0].rate / contenders[1].rate
    restore = large.restored_in()
    print(f"  batch time with 1,000,000 keys is {slowdown:.2f}x, restoring them takes {restore:.1f} s")
    print(f"  private memory of the largest worker: {small.memory_mb:,.0f} MB and {large.memory_mb:,.0f} MB")
    save(
        "state-size",
        {"headrace-10k-keys": contenders[0].rate, "headrace-1m-keys": contenders[1].rate},
        {
            "batch_time_ratio": round(slowdown, 2),
            "restore_s": round(restore, 1),
            "worker_mb_10k_keys": round(small.memory_mb),
            "worker_mb_1m_keys": round(large.memory_mb),
        },
    )


class Sized:
    """An application whose store holds so many keys before the first round."""

    def __init__(self, spark: Any, directory: Path, keys: int, batches: int) -> None:
        self._spark, self._directory, self._keys, self._batches = spark, directory, keys, batches
        self._rng = random.Random(keys)
        self._topics = hr.LocalTopics(directory / "topics")
        self._topics.create("in", partitions=1)
        builder = hr.StreamsBuilder()
        builder.stream("in", value_serde=serdes.Long()).group_by_key().count(store="counts").to_stream().to("out")
        self._topology = builder.build()
        self._at = 0
        self.memory_mb = 0.0
        self._process(range(keys), 250_000)

    def __call__(self, number: int) -> list[tuple[int, float]]:  # noqa: ARG002
        touched = [self._rng.randrange(self._keys) for _ in range(TOUCHED * (self._batches + 1))]
        with WorkerMemory() as memory:
            seconds = self._process(touched, TOUCHED)
        self.memory_mb = max(self.memory_mb, memory.peak_mb)
        return warm(seconds, TOUCHED)

    def restored_in(self) -> float:
        """Seconds from a start to its first commit longer on a machine without a replica than on one that has it."""
        usual = self._process(range(TOUCHED), TOUCHED)[0]
        return max(0.0, self._process(range(TOUCHED), TOUCHED, local="empty")[0] - usual)

    def _process(self, numbers: Any, limit: int, local: str = "local") -> list[float]:
        records = []
        for number in numbers:
            self._at += 1
            records.append(hr.Record(f"key-{number:016}", 1, self._at))
        self._topics.produce("in", records, value_serde=serdes.Long())
        config = hr.StreamsConfig(
            application_id="bench-state",
            topics_dir=self._directory / "topics",
            state_dir=self._directory / "state",
            local_dir=self._directory / local,
            max_records_per_batch=limit,
        )
        return caught_up(self._topology, config, self._spark)
