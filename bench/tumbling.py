"""Cases `tumbling-count` and `tumbling-final`: counts per key and minute, every update or only final results.

100,000 keys, records up to 10 s out of order, a grace of 30 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from bench.count import FILES_PER_BATCH
from bench.embedded_headrace import GRACE_MS, KEYS, WINDOW_MS, minute_keys_and_times
from bench.harness import Contender, alternate, catch_up, save, table, warm_batches, warm_query_batches
from headrace import serdes


def run_updates(spark: Any, directory: Path, *, quick: bool) -> None:
    _run(spark, directory, "tumbling-count", quick=quick, final=False)


def run_final(spark: Any, directory: Path, *, quick: bool) -> None:
    _run(spark, directory, "tumbling-final", quick=quick, final=True)


def _run(spark: Any, directory: Path, case: str, *, quick: bool, final: bool) -> None:
    records, batches, rounds = (200_000, 3, 1) if quick else (200_000, 6, 2)
    if final:
        native, by_hand = Native.with_final_results, count_final_by_processor
    else:
        native, by_hand = Native.with_updates, count_by_processor
    contenders = [
        Contender("headrace", Headrace(spark, directory / "headrace", records, batches, final=final)),
        Contender("spark-native", Native(spark, directory / "native", records, batches, native)),
        Contender("spark-tws-row", Native(spark, directory / "row", 10_000, 2 if quick else 3, by_hand)),
    ]
    print(f"{case}: {KEYS:,} keys, minutes, batches of {records:,} records (spark-tws-row: 10,000)")
    alternate(contenders, rounds)
    table(f"count per key and minute, {'final results' if final else 'every update'}", contenders)
    save(case, {contender.name: contender.rate for contender in contenders})


class Headrace:
    """Headrace, from embedded topic to embedded topic."""

    def __init__(self, spark: Any, directory: Path, records: int, batches: int, *, final: bool) -> None:
        self._spark, self._directory, self._records, self._batches = spark, directory, records, batches
        self._topics = hr.LocalTopics(directory / "topics")
        self._topics.create("in", partitions=4)
        builder = hr.StreamsBuilder()
        windows = hr.TimeWindows.of(timedelta(milliseconds=WINDOW_MS), grace=timedelta(milliseconds=GRACE_MS))
        counts = builder.stream("in", value_serde=serdes.Long()).group_by_key().windowed_by(windows).count(store="n")
        if final:
            counts = counts.suppress(hr.Suppressed.until_window_closes())
        counts.to_stream().to("out")
        self._topology = builder.build()

    def __call__(self, number: int) -> list[tuple[int, float]]:
        for batch in range(self._batches + 1):
            index = number * (self._batches + 1) + batch
            keys, times = minute_keys_and_times(index, self._records, index * self._records)
            rows = [hr.Record(key, at, at) for key, at in zip(keys, times, strict=True)]
            self._topics.produce("in", rows, value_serde=serdes.Long())
        config = hr.StreamsConfig(
            application_id="bench-tumbling",
            topics_dir=self._directory / "topics",
            state_dir=self._directory / "state",
            local_dir=self._directory / "local",
            max_records_per_batch=self._records,
        )
        return warm_batches(catch_up(self._topology, config, self._spark), self._records)


class Native:
    """Spark's own windows, or a hand-written processor, on files; results are discarded."""

    def __init__(
        self, spark: Any, directory: Path, records: int, batches: int, counting: Callable[[Any], tuple[Any, str]]
    ) -> None:
        self._spark, self._directory, self._records, self._batches = spark, directory, records, batches
        self._counting = counting
        (directory / "in").mkdir(parents=True)

    def __call__(self, number: int) -> list[tuple[int, float]]:
        for batch in range(self._batches + 1):
            index = number * (self._batches + 1) + batch
            keys, times = minute_keys_and_times(index, self._records, index * self._records)
            part = self._records // FILES_PER_BATCH
            for file in range(FILES_PER_BATCH):
                rows = slice(file * part, (file + 1) * part)
                columns = pa.table({"key": keys[rows], "ts": times[rows]})
                pq.write_table(columns, self._directory / "in" / f"{index:05}-{file}.parquet")
        reader = self._spark.readStream.schema("key string, ts long").option("maxFilesPerTrigger", FILES_PER_BATCH)
        stream, mode = self._counting(reader.parquet(str(self._directory / "in")))
        query = (
            stream.writeStream.format("noop")
            .outputMode(mode)
            .option("checkpointLocation", str(self._directory / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return warm_query_batches(query, self._records)

    @staticmethod
    def with_updates(stream: Any) -> tuple[Any, str]:
        return _windowed(stream), "update"

    @staticmethod
    def with_final_results(stream: Any) -> tuple[Any, str]:
        return _windowed(stream), "append"


def _windowed(stream: Any) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    timed = stream.withColumn("time", F.timestamp_millis("ts")).withWatermark("time", f"{GRACE_MS} milliseconds")
    return timed.groupBy(F.window("time", f"{WINDOW_MS} milliseconds"), "key").count()


def count_by_processor(stream: Any) -> tuple[Any, str]:
    schema = "key string, start long, count long, ts long"
    return stream.groupBy("key").transformWithState(_processor(final=False), schema, "update", "none"), "update"


def count_final_by_processor(stream: Any) -> tuple[Any, str]:
    schema = "key string, start long, count long, ts long"
    return stream.groupBy("key").transformWithState(_processor(final=True), schema, "append", "none"), "append"


def _processor(*, final: bool) -> Any:
    from pyspark.sql import Row as SparkRow
    from pyspark.sql.streaming import StatefulProcessor

    class Counting(StatefulProcessor):
        """One map of windows per key; a window closes by the key's own time."""

        def init(self, handle: Any) -> None:
            self._windows = handle.getMapState("windows", "start long", "count long, ts long")
            self._time = handle.getValueState("time", "ts long")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
            (time,) = self._time.get() or (-1,)
            for row in rows:
                time = max(time, row.ts)
                start = row.ts - row.ts % WINDOW_MS
                if start + WINDOW_MS <= time - GRACE_MS:
                    continue
                count, latest = self._windows.getValue((start,)) or (0, -1)
                count, latest = count + 1, max(latest, row.ts)
                self._windows.updateValue((start,), (count, latest))
                if not final:
                    yield SparkRow(key=key[0], start=start, count=count, ts=latest)
            self._time.update((time,))
            if final:
                for (start,), (count, latest) in list(self._windows.iterator()):
                    if start + WINDOW_MS <= time - GRACE_MS:
                        self._windows.removeKey((start,))
                        yield SparkRow(key=key[0], start=start, count=count, ts=latest)

        def close(self) -> None:
            pass

    return Counting()
