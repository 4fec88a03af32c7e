"""Case `table-aggregate`: the sum per group of a table of 100,000 rows; half of all updates move to another group."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from bench.count import FILES_PER_BATCH
from bench.harness import Contender, alternate, catch_up, save, table, warm_batches, warm_query_batches
from headrace import serdes

ROWS = 100_000
GROUPS = 1_000


def run(spark: Any, directory: Path, *, quick: bool) -> None:
    records, batches, rounds = (100_000, 3, 1) if quick else (200_000, 5, 2)
    contenders = [
        Contender("headrace", Headrace(spark, directory / "headrace", records, batches)),
        Contender("spark-tws-row", Row(spark, directory / "row", 10_000, 2 if quick else 3)),
    ]
    print(f"table-aggregate: {ROWS:,} rows, {GROUPS:,} groups, batches of {records:,} updates (spark-tws-row: 10,000)")
    alternate(contenders, rounds)
    table("sum per group of a changing table, every update", contenders)
    save("table-aggregate", {contender.name: contender.rate for contender in contenders})


class Updates:
    """Rows that change: half stay in their group, half move."""

    def __init__(self) -> None:
        self._rng = random.Random(904)
        self._groups: dict[int, int] = {}
        self._at = 0

    def take(self, number: int) -> Iterator[tuple[str, str, int, int]]:
        """Key, group, amount and timestamp of the next `number` updates."""
        for _ in range(number):
            self._at += 1
            row = self._rng.randrange(ROWS)
            if row not in self._groups or self._rng.random() < 0.5:
                self._groups[row] = self._rng.randrange(GROUPS)
            yield f"row-{row}", f"group-{self._groups[row]}", self._rng.randrange(1_000), self._at


class Headrace:
    """Headrace, from embedded topic to embedded topic."""

    def __init__(self, spark: Any, directory: Path, records: int, batches: int) -> None:
        self._spark, self._directory, self._records, self._batches = spark, directory, records, batches
        self._updates = Updates()
        self._topics = hr.LocalTopics(directory / "topics")
        self._topics.create("in", partitions=4)
        builder = hr.StreamsBuilder()
        rows = builder.table("in").group_by(
            lambda _, row: (row["group"], row["amount"]), key_serde=serdes.String(), value_serde=serdes.Long()
        )
        sums = rows.aggregate(
            int,
            lambda _, amount, total: total + amount,
            lambda _, amount, total: total - amount,
            store="sums",
            value_serde=serdes.Long(),
        )
        sums.to_stream().to("out")
        self._topology = builder.build()

    def __call__(self, number: int) -> list[tuple[int, float]]:  # noqa: ARG002
        for _ in range(self._batches + 1):
            updates = self._updates.take(self._records)
            rows = [hr.Record(key, {"group": group, "amount": amount}, at) for key, group, amount, at in updates]
            self._topics.produce("in", rows)
        config = hr.StreamsConfig(
            application_id="bench-table",
            topics_dir=self._directory / "topics",
            state_dir=self._directory / "state",
            local_dir=self._directory / "local",
            max_records_per_batch=self._records,
        )
        return warm_batches(catch_up(self._topology, config, self._spark), self._records)


class Row:
    """The same sums by `transformWithState`: one processor stores rows and emits changes, the next one sums them."""

    def __init__(self, spark: Any, directory: Path, records: int, batches: int) -> None:
        self._spark, self._directory, self._records, self._batches = spark, directory, records, batches
        self._updates = Updates()
        (directory / "in").mkdir(parents=True)

    def __call__(self, number: int) -> list[tuple[int, float]]:
        part = self._records // FILES_PER_BATCH
        for file in range((self._batches + 1) * FILES_PER_BATCH):
            keys, groups, amounts, times = zip(*self._updates.take(part), strict=True)
            columns = pa.table({"key": keys, "grp": groups, "amount": amounts, "ts": times})
            pq.write_table(columns, self._directory / "in" / f"{number:03}-{file:05}.parquet")
        schema = "key string, grp string, amount long, ts long"
        stream = self._spark.readStream.schema(schema).option("maxFilesPerTrigger", FILES_PER_BATCH)
        storing, summing = processors()
        query = (
            stream.parquet(str(self._directory / "in"))
            .groupBy("key")
            .transformWithState(storing, "grp string, amount long, ts long", "append", "none")
            .groupBy("grp")
            .transformWithState(summing, "grp string, total long, ts long", "append", "none")
            .writeStream.format("noop")
            .outputMode("append")
            .option("checkpointLocation", str(self._directory / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return warm_query_batches(query, self._records)


def processors() -> tuple[Any, Any]:
    from pyspark.sql import Row as SparkRow
    from pyspark.sql.streaming import StatefulProcessor

    class RowStore(StatefulProcessor):
        """Stores the row of a key; a change within a group emits one difference, a move between groups two."""

        def init(self, handle: Any) -> None:
            self._row = handle.getValueState("row", "grp string, amount long")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
            current = self._row.get()
            for row in sorted(rows, key=lambda row: row.ts):
                if current is not None and current[0] == row.grp:
                    yield SparkRow(grp=row.grp, amount=row.amount - current[1], ts=row.ts)
                else:
                    if current is not None:
                        yield SparkRow(grp=current[0], amount=-current[1], ts=row.ts)
                    yield SparkRow(grp=row.grp, amount=row.amount, ts=row.ts)
                current = (row.grp, row.amount)
            self._row.update(current)

        def close(self) -> None:
            pass

    class Summing(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._sum = handle.getValueState("sum", "total long, ts long")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
            total, latest = self._sum.get() or (0, -1)
            for row in sorted(rows, key=lambda row: row.ts):
                total, latest = total + row.amount, max(latest, row.ts)
                yield SparkRow(grp=key[0], total=total, ts=latest)
            self._sum.update((total, latest))

        def close(self) -> None:
            pass

    return RowStore(), Summing()
