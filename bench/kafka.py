"""Cases `kafka-count` and `kafka-word-count`: from Kafka to Kafka, exactly once, beside Quix Streams and Kafka Streams.

There is one broker, a single node on the same machine; one input topic of 4 partitions, written before anything is
timed; and an output topic for every contender and round. `kafka-count` counts records by key, `kafka-word-count` splits
lines into eight words, repartitions by word, and counts. Every update is written, with its timestamp, except by
`headrace-cached` and `kafka-streams-cached`, which have a record cache of Kafka Streams' default size and omit most
updates. Kafka Streams and Quix Streams commit every second, Headrace after batches of up to 500,000 records or 100,000
lines.

Each contender is restarted for every round and reads the topic from its beginning. The time until the first 30 % of its
results are visible to a consumer of committed records is warm-up (start-up, just-in-time compilers) and does not count.
Results and time are counted from the commit that completes these 30 % to the one that completes the whole; the rate is
in input records per second. With a cache, the offsets of the consumer group count, which both publish about once a
second. Afterwards the output is read and compared with the right counts. Quix Streams processes only 8 % of the input.

The processor time per record, without the broker's, is reported too: it varies less when the machine is busy.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from bench.harness import Contender, alternate, save, table
from bench.kafka_contenders import (
    DEFAULT_CACHE,
    EVERY_UPDATE,
    Commands,
    Job,
    build,
    headrace,
    kafka_streams,
    quix_streams,
)
from bench.kafka_input import PARTITIONS, Input, check_results, keyed_records, lines
from bench.processes import ROOT, Running
from bench.versions import check_out, versions
from headrace.topics.kafka.cluster import KafkaCluster
from tests.support.broker import Broker

_WARM = 0.3
_POLL_EVERY_S = 0.05
_STILL_S = 4.0
_WITHIN_S = 900.0
_NO_COORDINATOR_YET = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)

# The progress of a contender is the number of updates it has written; or, with a cache, the offsets of the records that
# it has counted, or of its input.
Progress = Literal["updates", "counted", "input"]

# Name, how it is started, the share of the input it processes, and how its progress is measured.
_CONTENDERS: list[tuple[str, Commands, float, Progress]] = [
    ("headrace", headrace(ROOT), 1.0, "updates"),
    ("headrace-cached", headrace(ROOT, DEFAULT_CACHE), 1.0, "input"),
    ("quix-streams", quix_streams, 0.08, "updates"),
    ("kafka-streams", kafka_streams(EVERY_UPDATE), 1.0, "updates"),
    ("kafka-streams-cached", kafka_streams(DEFAULT_CACHE), 1.0, "counted"),
]


def run_count(directory: Path, *, quick: bool, against: str | None) -> None:
    records = 1_000_000 if quick else 2_000_000
    _run("kafka-count", "count", keyed_records, records, directory, quick=quick, against=against)


def run_word_count(directory: Path, *, quick: bool, against: str | None) -> None:
    records = 400_000 if quick else 800_000
    _run("kafka-word-count", "words", lines, records, directory, quick=quick, against=against)


def _run(
    case: str,
    workload: str,
    write: Callable[[KafkaCluster, str, int], Input],
    records: int,
    directory: Path,
    *,
    quick: bool,
    against: str | None,
) -> None:
    build()
    directory.mkdir()
    with ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory(dir=directory))
        compared = _CONTENDERS
        if against is not None:
            trees = versions(stack.enter_context(check_out(against, directory)), against)
            compared = [(name, headrace(tree), 1.0, "updates") for name, tree in trees.items()]
            case = f"{case} against {against}"
        broker = Broker(Path(data), command=("java", "-Xmx1g"))
        broker.start()
        try:
            cluster = KafkaCluster(broker.bootstrap_servers)
            given = write(cluster, "input", records)
            print(f"{case}: {records:,} records, {len(given.counts):,} result keys, {PARTITIONS} partitions")
            timed = [
                TimedContender(name, commands, workload, given, cluster, directory, part, progress)
                for name, commands, part, progress in compared
            ]
            contenders = [Contender(one.name, one) for one in timed]
            alternate(contenders, 1 if quick else 2)
        finally:
            broker.kill()
    table(f"{case}, exactly once", contenders)
    cpu_us = {one.name: round(statistics.median(one.cpu_us), 1) for one in timed}
    print(f"  processor time per record in microseconds, without the broker: {cpu_us}")
    save(case, {contender.name: contender.rate for contender in contenders}, {"cpu_us_per_record": cpu_us})


@dataclass
class TimedContender:
    """One contender; a call runs a round and returns its input records and seconds."""

    name: str
    commands: Commands
    workload: str
    given: Input
    cluster: KafkaCluster
    directory: Path
    part: float
    progress: Progress
    cpu_us: list[float] = field(default_factory=list)

    def __call__(self, number: int) -> list[tuple[int, float]]:
        name = f"{self.name}-{number}"
        job = Job(
            self.workload,
            self.cluster.bootstrap_servers,
            self.given.topic,
            f"{name}-output",
            name,
            self.directory / name,
        )
        self.cluster.create({job.output: PARTITIONS})
        results = self.given.records * self.given.results_per_record * self.part
        with Running(self.commands(job), job.directory) as running:
            first, began_s, cpu_began_s = self._await_results(job, results * _WARM, running)
            last, ended_s, cpu_ended_s = self._await_results(job, results, running)
            if self.part == 1:
                self._await_rest(job, running)
        check_results(
            self.cluster, job.output, self.given, whole=self.part == 1, every_update=self.progress == "updates"
        )
        records = (last - first) // self.given.results_per_record
        self.cpu_us.append((cpu_ended_s - cpu_began_s) * 1e6 / records)
        return [(records, ended_s - began_s)]

    def _await_results(self, job: Job, results: float, running: Running) -> tuple[int, float, float]:
        """Waits until there are `results`; returns how many there are, the time, and the processor time used so far."""
        until_s = time.monotonic() + _WITHIN_S
        while (done := self._count_results(job)) < results:
            running.check()
            if time.monotonic() > until_s:
                message = f"{job.name} has {done:,} results after {_WITHIN_S:.0f} s, expected {results:,.0f}"
                raise RuntimeError(message)
            time.sleep(_POLL_EVERY_S)
        return done, time.perf_counter(), running.cpu_s()

    def _await_rest(self, job: Job, running: Running) -> None:
        """Waits until no more results arrive: offsets also count the ends of transactions, so some may be missing."""
        before, still_since_s = -1, time.monotonic()
        while time.monotonic() < still_since_s + _STILL_S:
            done = self._count_visible(job)
            if done != before:
                before, still_since_s = done, time.monotonic()
            running.check()
            time.sleep(_POLL_EVERY_S)

    def _count_results(self, job: Job) -> int:
        """The number of visible results; with a cache, which omits most of them, the number of processed records."""
        if self.progress == "updates":
            return self._count_visible(job)
        asked = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(job.name)])
        try:
            committed = asked[job.name].result().topic_partitions
        except KafkaException as error:
            if error.args[0].code() not in _NO_COORDINATOR_YET:
                raise
            return 0
        if self.progress == "input":
            return self.given.results_per_record * sum(place.offset for place in committed)
        repartitioned = self.given.results_per_record > 1
        return sum(place.offset for place in committed if (place.topic != job.source) == repartitioned)

    def _count_visible(self, job: Job) -> int:
        return sum(self.cluster.end_offsets((job.output, partition) for partition in range(PARTITIONS)))

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.cluster.bootstrap_servers, "log_level": 2})
