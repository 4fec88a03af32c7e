"""Case `state-size`: a batch that updates 10,000 keys, with 10,000, 1,000,000 and 10,000,000 keys in the store.

In a round every application processes some batches of 10,000 records, each with another key. Then it is started without
its replica and restores the state from the state directory. The size of the state directory is compared with that of
the live entries, keys and values as they are stored, before compression.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import headrace as hr
from bench.harness import Contender, WorkerMemory, alternate, catch_up, save, table, warm_batches
from headrace import serdes

TOUCHED = 10_000
SIZES = (10_000, 1_000_000, 10_000_000)
_PRELOADED_PER_BATCH = 1_000_000
_ENTRY_BYTES = len(f"key-{0:016}") + 16  # a key, a timestamp and a count


def run(spark: Any, directory: Path, *, quick: bool) -> None:
    rounds, batches = (2, 5) if quick else (3, 8)
    sized = [Sized(spark, directory / str(keys), keys, batches) for keys in (SIZES[:2] if quick else SIZES)]
    contenders = [Contender(f"{one.keys:,} keys in store", one) for one in sized]
    print(f"state-size: batches of {TOUCHED:,} records")
    alternate(contenders, rounds)
    table(f"batches of {TOUCHED:,} touched keys", contenders)
    details: dict[str, dict[str, float]] = {}
    for one, contender in zip(sized, contenders, strict=True):
        restored_s = one.restore_seconds()
        details[f"{one.keys:,} keys"] = figures = {
            "batch_ms": round(TOUCHED / contender.rate * 1000),
            "restore_entries_per_s": round(one.keys / restored_s) if restored_s else 0,
            "disk_to_live": round(one.disk_bytes / (one.keys * _ENTRY_BYTES), 2),
            "worker_mb": round(one.memory_mb),
        }
        print(f"  {contender.name}: {figures}", flush=True)
    save("state-size", {contender.name: contender.rate for contender in contenders}, details)


class Sized:
    """An application whose store holds `keys` keys before the first round."""

    def __init__(self, spark: Any, directory: Path, keys: int, batches: int) -> None:
        self._spark, self._directory, self._batches = spark, directory, batches
        self.keys = keys
        self._rng = random.Random(keys)
        self._topics = hr.LocalTopics(directory / "topics")
        self._topics.create("in", partitions=1)
        builder = hr.StreamsBuilder()
        builder.stream("in", value_serde=serdes.Long()).group_by_key().count(store="counts").to_stream().to("out")
        self._topology = builder.build()
        self._at = 0
        self.memory_mb = 0.0
        for first in range(0, keys, _PRELOADED_PER_BATCH):
            self._process(range(first, min(first + _PRELOADED_PER_BATCH, keys)), 250_000)

    def __call__(self, number: int) -> list[tuple[int, float]]:  # noqa: ARG002
        touched = [key for _ in range(self._batches + 1) for key in self._rng.sample(range(self.keys), TOUCHED)]
        with WorkerMemory() as memory:
            seconds = self._process(touched, TOUCHED)
        self.memory_mb = max(self.memory_mb, memory.peak_mb)
        return warm_batches(seconds, TOUCHED)

    @property
    def disk_bytes(self) -> int:
        return sum(file.stat().st_size for file in (self._directory / "state" / "state").iterdir())

    def restore_seconds(self) -> float:
        """How many seconds longer the first commit after a start takes without a replica."""
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
        return catch_up(self._topology, config, self._spark)
