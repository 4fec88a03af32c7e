"""Case `count`: count per key with the highest timestamp, 100,000 keys, every update emitted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from bench.embedded_headrace import KEYS, keys_and_times, topology
from bench.harness import Contender, alternate, catch_up, save, table, warm_batches, warm_query_batches
from headrace import serdes

FILES_PER_BATCH = 4


def run(spark: Any, directory: Path, *, quick: bool) -> None:
    records, batches, rounds = (200_000, 3, 2) if quick else (200_000, 5, 3)
    contenders = [
        Contender("headrace", Headrace(spark, directory / "headrace", records, batches)),
        Contender("spark-native", Native(spark, directory / "native", records, batches)),
        Contender("spark-tws-row", Row(spark, directory / "row", 10_000, 2 if quick else 3)),
    ]
    print(f"count: {KEYS:,} keys, batches of {records:,} records (spark-tws-row: 10,000)")
    alternate(contenders, rounds)
    table("count per key, highest timestamp, every update", contenders)
    save("count", {contender.name: contender.rate for contender in contenders})


class Headrace:
    """Headrace, from embedded topic to embedded topic."""

    def __init__(self, spark: Any, directory: Path, records: int, batches: int) -> None:
        self._spark, self._directory, self._records, self._batches = spark, directory, records, batches
        self._topics = hr.LocalTopics(directory / "topics")
        self._topics.create("in", partitions=4)
        self._topology = topology("count")

    def __call__(self, number: int) -> list[tuple[int, float]]:
        for batch in range(self._batches + 1):
            index = number * (self._batches + 1) + batch
            keys, times = keys_and_times(index, self._records, index * self._records)
            rows = [hr.Record(key, at, at) for key, at in zip(keys, times, strict=True)]
            self._topics.produce("in", rows, value_serde=serdes.Long())
        config = hr.StreamsConfig(
            application_id="bench-count",
            topics_dir=self._directory / "topics",
            state_dir=self._directory / "state",
            local_dir=self._directory / "local",
            max_records_per_batch=self._records,
        )
        return warm_batches(catch_up(self._topology, config, self._spark), self._records)


class Native:
    """Spark's own aggregation without any Python; results are discarded."""

    def __init__(self, spark: Any, directory: Path, records: int, batches: int) -> None:
        self._spark, self._directory, self._records, self._batches = spark, directory, records, batches
        (directory / "in").mkdir(parents=True)

    def __call__(self, number: int) -> list[tuple[int, float]]:
        write_files(self._directory / "in", number, self._records, self._batches + 1)
        reader = self._spark.readStream.schema("key string, ts long").option("maxFilesPerTrigger", FILES_PER_BATCH)
        query = (
            self._counted(reader.parquet(str(self._directory / "in")))
            .writeStream.format("noop")
            .outputMode("update")
            .option("checkpointLocation", str(self._directory / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return warm_query_batches(query, self._records)

    def _counted(self, stream: Any) -> Any:
        from pyspark.sql import functions as F  # noqa: N812

        return stream.groupBy("key").agg(F.count("*").alias("count"), F.max("ts").alias("ts"))


class Row(Native):
    """`transformWithState` on rows, as a Spark user would write it: one state value per key."""

    def _counted(self, stream: Any) -> Any:
        schema = "key string, count long, ts long"
        return stream.groupBy("key").transformWithState(counting_processor(), schema, "update", "none")


def counting_processor() -> Any:
    from pyspark.sql import Row as SparkRow
    from pyspark.sql.streaming import StatefulProcessor

    class Counting(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._state = handle.getValueState("count", "count long, ts long")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
            count, latest = self._state.get() or (0, -1)
            for row in rows:
                count, latest = count + 1, max(latest, row.ts)
                yield SparkRow(key=key[0], count=count, ts=latest)
            self._state.update((count, latest))

        def close(self) -> None:
            pass

    return Counting()


def write_files(directory: Path, number: int, records: int, batches: int) -> None:
    for batch in range(batches):
        index = number * batches + batch
        keys, times = keys_and_times(index, records, index * records)
        part = records // FILES_PER_BATCH
        for file in range(FILES_PER_BATCH):
            rows = slice(file * part, (file + 1) * part)
            pq.write_table(pa.table({"key": keys[rows], "ts": times[rows]}), directory / f"{index:05}-{file}.parquet")
