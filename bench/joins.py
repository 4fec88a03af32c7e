"""Cases `stream-stream-join` and `stream-table-join`: 100,000 keys on both sides.

Streams are joined within two seconds. The table is complete before the measured records of the stream arrive, like
Spark's static table. In `headrace-both-sides` the table also gets an update for each record of the stream, which is
impossible with a static table.
"""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from bench.count import FILES_PER_BATCH
from bench.harness import Contender, alternate, catch_up, save, table, warm_batches, warm_query_batches
from headrace import serdes

KEYS = 100_000
RECORDS_PER_SECOND = 20_000  # per side, in event time
WITHIN_MS, DISORDER_MS, GRACE_MS = 2_000, 1_000, 5_000


def run_streams(spark: Any, directory: Path, *, quick: bool) -> None:
    records, batches, rounds = (100_000, 2, 1) if quick else (100_000, 4, 2)
    contenders = [
        Contender("headrace", StreamStream(spark, directory / "headrace", records, batches)),
        Contender("spark-native", NativeStreams(spark, directory / "native", records, batches)),
    ]
    print(f"stream-stream-join: {KEYS:,} keys, batches of {records:,} records per side")
    alternate(contenders, rounds)
    table("inner join of two streams within two seconds", contenders)
    save("stream-stream-join", {contender.name: contender.rate for contender in contenders})


def run_table(spark: Any, directory: Path, *, quick: bool) -> None:
    records, batches, rounds = (200_000, 2, 1) if quick else (200_000, 4, 2)
    contenders = [
        Contender("headrace", StreamTable(spark, directory / "headrace", records, batches, both=False)),
        Contender("spark-static-table", NativeTable(spark, directory / "native", records, batches)),
        Contender("headrace-both-sides", StreamTable(spark, directory / "both", records, batches, both=True)),
    ]
    print(f"stream-table-join: {KEYS:,} keys, batches of {records:,} records")
    alternate(contenders, rounds)
    table("inner join of a stream with a table", contenders)
    save("stream-table-join", {contender.name: contender.rate for contender in contenders})


def data(seed: int, records: int, first: int) -> tuple[list[str], list[int], list[int]]:
    """Keys, values and timestamps of a batch of one side."""
    rng = random.Random(seed)
    times = [(first + i) * 1000 // RECORDS_PER_SECOND for i in range(records)]
    return (
        [f"key-{rng.randrange(KEYS)}" for _ in range(records)],
        [rng.randrange(1_000_000) for _ in range(records)],
        [max(0, time_ms - rng.randrange(DISORDER_MS)) for time_ms in times],
    )


def plus(left: int, right: int) -> int:
    return left + right


class _Headrace:
    """Headrace, from embedded topics to an embedded topic."""

    topology: hr.Topology

    def __init__(self, spark: Any, directory: Path, records: int, batches: int) -> None:
        self._spark, self._directory, self._records, self._batches = spark, directory, records, batches
        self._topics = hr.LocalTopics(directory / "topics")
        for topic in ("left", "right"):
            self._topics.create(topic, partitions=4)

    def _produce(self, topic: str, seed: int, records: int, first: int) -> None:
        rows = [hr.Record(*row) for row in zip(*data(seed, records, first), strict=True)]
        self._topics.produce(topic, rows, value_serde=serdes.Long())

    def _catch_up(self, max_records: int) -> list[float]:
        config = hr.StreamsConfig(
            application_id="bench-join",
            topics_dir=self._directory / "topics",
            state_dir=self._directory / "state",
            local_dir=self._directory / "local",
            max_records_per_batch=max_records,
            default_value_serde=serdes.Long(),
        )
        return catch_up(self.topology, config, self._spark)


class StreamStream(_Headrace):
    """A join of two streams."""

    def __init__(self, spark: Any, directory: Path, records: int, batches: int) -> None:
        super().__init__(spark, directory, records, batches)
        builder = hr.StreamsBuilder()
        within = hr.JoinWindows.of(timedelta(milliseconds=WITHIN_MS), grace=timedelta(milliseconds=GRACE_MS))
        builder.stream("left").join(builder.stream("right"), plus, within=within).to("out")
        self.topology = builder.build()

    def __call__(self, number: int) -> list[tuple[int, float]]:
        for batch in range(self._batches + 1):
            index = number * (self._batches + 1) + batch
            for side, topic in enumerate(("left", "right")):
                self._produce(topic, 2 * index + side, self._records, index * self._records)
        return warm_batches(self._catch_up(2 * self._records), 2 * self._records)


class StreamTable(_Headrace):
    """A join with a table that is loaded before the stream, or with `both`, updated once per record of the stream."""

    def __init__(self, spark: Any, directory: Path, records: int, batches: int, *, both: bool) -> None:
        super().__init__(spark, directory, records, batches)
        self._both = both
        builder = hr.StreamsBuilder()
        builder.stream("left").join(builder.table("right"), plus).to("out")
        self.topology = builder.build()

    def __call__(self, number: int) -> list[tuple[int, float]]:
        if not number and not self._both:
            for index in range(self._batches):
                self._produce("right", index, self._records, 0)
            self._catch_up(self._records)
        for batch in range(self._batches + 1):
            index = number * (self._batches + 1) + batch
            records = self._records // 2 if self._both else self._records
            self._produce("left", 100 + index, records, index * records)
            if self._both:
                self._produce("right", 200 + index, records, index * records)
        return warm_batches(self._catch_up(self._records), self._records)


class _Native:
    """Spark's own joins of files; results are discarded."""

    def __init__(self, spark: Any, directory: Path, records: int, batches: int) -> None:
        self._spark, self._directory, self._records, self._batches = spark, directory, records, batches

    def _write(self, side: str, seed: int, index: int) -> None:
        folder = self._directory / side
        folder.mkdir(parents=True, exist_ok=True)
        columns = data(seed, self._records, index * self._records)
        part = self._records // FILES_PER_BATCH
        for file in range(FILES_PER_BATCH):
            rows = slice(file * part, (file + 1) * part)
            names = (f"{side}_key", f"{side}_value", f"{side}_ts")
            written = pa.table({name: column[rows] for name, column in zip(names, columns, strict=True)})
            pq.write_table(written, folder / f"{index:05}-{file}.parquet")

    def _stream(self, side: str) -> Any:
        from pyspark.sql import functions as F  # noqa: N812

        reader = self._spark.readStream.schema(f"{side}_key string, {side}_value long, {side}_ts long")
        stream = reader.option("maxFilesPerTrigger", FILES_PER_BATCH).parquet(str(self._directory / side))
        timed = stream.withColumn(f"{side}_time", F.timestamp_millis(f"{side}_ts"))
        return timed.withWatermark(f"{side}_time", f"{GRACE_MS} milliseconds")

    def _catch_up(self, stream: Any) -> Any:
        query = (
            stream.writeStream.format("noop")
            .outputMode("append")
            .option("checkpointLocation", str(self._directory / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return query


class NativeStreams(_Native):
    """A stream-stream join with watermarks on both sides."""

    def __call__(self, number: int) -> list[tuple[int, float]]:
        from pyspark.sql import functions as F  # noqa: N812

        for batch in range(self._batches + 1):
            index = number * (self._batches + 1) + batch
            for side_number, side in enumerate(("left", "right")):
                self._write(side, 2 * index + side_number, index)
        within = F.expr(
            f"left_key = right_key AND right_time BETWEEN left_time - INTERVAL {WITHIN_MS} MILLISECONDS "
            f"AND left_time + INTERVAL {WITHIN_MS} MILLISECONDS"
        )
        joined = self._stream("left").join(self._stream("right"), within)
        result = joined.select(
            "left_key", F.expr("left_value + right_value AS value"), F.expr("greatest(left_ts, right_ts) AS ts")
        )
        return warm_query_batches(self._catch_up(result), 2 * self._records)


class NativeTable(_Native):
    """A join with a table that never changes."""

    def __call__(self, number: int) -> list[tuple[int, float]]:
        from pyspark.sql import functions as F  # noqa: N812

        if not number:
            rows = {}
            for index in range(self._batches):
                keys, values, _ = data(index, self._records, 0)
                rows.update(zip(keys, values, strict=True))
            folder = self._directory / "right"
            folder.mkdir(parents=True)
            static = pa.table({"right_key": list(rows), "right_value": list(rows.values())})
            pq.write_table(static, folder / "rows.parquet")
        for batch in range(self._batches + 1):
            index = number * (self._batches + 1) + batch
            self._write("left", 100 + index, index)
        right = self._spark.read.parquet(str(self._directory / "right"))
        joined = self._stream("left").join(right, F.expr("left_key = right_key"))
        result = joined.select("left_key", F.expr("left_value + right_value AS value"), "left_ts")
        return warm_query_batches(self._catch_up(result), self._records)
