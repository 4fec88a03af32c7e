"""Headrace on embedded topics: `python embedded_headrace.py workload directory records batches warm round`.

It writes `batches` batches of `records` records, processes them, and prints as JSON how many results became visible
after those of the first `warm` batches, and in how many seconds. Any version of Headrace can run it: it imports nothing
else.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

import headrace as hr
from headrace import serdes

KEYS = 100_000
WORDS = 10_000
RECORDS_PER_SECOND = 20_000  # in event time, for `tumbling-count`: a batch of 200,000 spans ten seconds
WINDOW_MS, DISORDER_MS, GRACE_MS = 60_000, 10_000, 30_000
PARTITIONS = 4
_POLL_EVERY_S = 0.002


def topology(workload: str) -> hr.Topology:
    builder = hr.StreamsBuilder()
    stream = builder.stream("in", value_serde=serdes.Long())
    if workload == "rekey-count":
        grouped = stream.group_by(lambda _, number: f"word-{number % WORDS}", value_serde=serdes.Long())
    else:
        grouped = stream.group_by_key()
    if workload == "tumbling-count":
        grouped = grouped.windowed_by(
            hr.TimeWindows.of(timedelta(milliseconds=WINDOW_MS), grace=timedelta(milliseconds=GRACE_MS))
        )
    grouped.count(store="counts").to_stream().to("out")
    return builder.build()


def keys_and_times(seed: int, records: int, first: int) -> tuple[list[str], list[int]]:
    """Keys and timestamps of a batch."""
    rng = random.Random(seed)
    return [f"key-{rng.randrange(KEYS)}" for _ in range(records)], [
        max(0, first + i - rng.randrange(500)) for i in range(records)
    ]


def minute_keys_and_times(seed: int, records: int, first: int) -> tuple[list[str], list[int]]:
    """Keys and timestamps of a batch with 20,000 records per second of event time, up to 10 s out of order."""
    rng = random.Random(seed)
    times = [(first + i) * 1000 // RECORDS_PER_SECOND for i in range(records)]
    return (
        [f"key-{rng.randrange(KEYS)}" for _ in range(records)],
        [max(0, time_ms - rng.randrange(DISORDER_MS)) for time_ms in times],
    )


def rows(workload: str, index: int, records: int) -> Iterator[hr.Record[str, int]]:
    """The input of one batch."""
    data = minute_keys_and_times if workload == "tumbling-count" else keys_and_times
    keys, times = data(index, records, index * records)
    numbers = random.Random(-index).choices(range(KEYS), k=records)
    for key, number, at in zip(keys, numbers, times, strict=True):
        yield hr.Record(key, number, at)


class ResultWatcher:
    """Samples within a `with` block how many results are visible, and since when."""

    def __init__(self, topics: Path) -> None:
        self._topics = hr.LocalTopics(topics)
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self.samples: list[tuple[int, float]] = []

    def __enter__(self) -> Self:
        self._sample()
        self._watcher.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._watcher.join()
        self._sample()

    def _watch(self) -> None:
        while not self._ended.wait(_POLL_EVERY_S):
            self._sample()

    def _sample(self) -> None:
        results = sum(self._topics.describe("out").end_offsets)
        if not self.samples or results > self.samples[-1][0]:
            self.samples.append((results, time.perf_counter()))


def main(workload: str, directory: Path, records: int, batches: int, warm: int, number: int) -> dict[str, Any]:
    topics = hr.LocalTopics(directory / "topics")
    for topic in ("in", "out"):
        topics.create(topic, partitions=PARTITIONS, exist_ok=True)
    for index in range(number * batches, (number + 1) * batches):
        topics.produce("in", rows(workload, index, records), value_serde=serdes.Long())
    config = hr.StreamsConfig(
        application_id="bench",
        topics_dir=directory / "topics",
        state_dir=directory / "state",
        local_dir=directory / "local",
        max_records_per_batch=records,
    )
    with hr.Streams(topology(workload), config) as app, ResultWatcher(directory / "topics") as results:
        app.process_available()
    before, last = results.samples[0][0], results.samples[-1]
    if last[0] - before != batches * records:
        message = f"{last[0] - before:,} results of {batches * records:,} records"
        raise RuntimeError(message)
    first = next(sample for sample in results.samples if sample[0] - before >= warm * records)
    return {"headrace": hr.__file__, "records": last[0] - first[0], "seconds": last[1] - first[1]}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))))
