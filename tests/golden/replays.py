"""Replays goldens on the test driver, on the plan that Spark runs, on Spark, and on Spark with topics on Kafka."""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import headrace as hr
from headrace._graph.nodes import Sink, Source
from headrace._graph.patterns import with_matching_topics
from headrace._runtime.defaults import Defaults
from headrace.testing import TopologyTestDriver
from tests.golden.deviations import ACCEPTED
from tests.golden.goldens import as_recorded, cut, headers_of
from tests.golden.multiplex import combined
from tests.spark.waiting import wait_until_caught_up, wait_until_idle
from tests.support.clocks import FileClock
from tests.support.plan_runner import PlanRunner

DEFAULTS = Defaults.of(hr.StreamsConfig(application_id="golden"))


def settings(golden, **more):
    return hr.StreamsConfig.from_mapping({"application.id": "golden", **golden.config, **more})


def on_driver(golden, mode, **more):
    """Replays record by record; with the mode "restarts", restarts in between."""
    topology = golden.topology()
    with TopologyTestDriver(topology, settings(golden, **more), wall_clock_ms=0) as driver:
        for number, step in enumerate(golden.steps):
            if number in golden.restarts(mode):
                driver.restart()
            if step[0] == "@advance":
                driver.advance_wall_clock(timedelta(milliseconds=step[1]))
                continue
            try:
                driver.input_topic(step[0]).pipe(*step[1:4], headers=headers_of(step))
            except hr.StreamsError:
                if golden.error is None or number + 1 < len(golden.steps):
                    raise
                break
        else:
            assert golden.error is None or golden.id in ACCEPTED, (
                f"{golden.name}: Kafka Streams refuses the last step: {golden.error}"
            )
        written = set(topology._graph.sink_topics)
        if topology._graph.dynamic_sinks:
            written |= driver._runtime.outputs.keys() - set(topology._graph.source_topics)
        return {topic: [as_recorded(record) for record in driver.output_topic(topic).read_all()] for topic in written}


def on_plan(golden, mode):
    """Replays in batches as Spark would run them, on real state and topics; moves to a new machine in the middle."""
    topology = golden.topology()
    with directory() as folder:
        topics = Topics(embedded_topics(folder), known_graph(golden), partitions=1)
        runner = PlanRunner(topology, folder, config=settings(golden))
        runner.run_batch(1_000, tick=True)
        batches = cut(golden, mode)
        for number, batch in enumerate(batches):
            if mode == "cut at random" and number == len(batches) // 2:
                runner.restart()
            if batch[0][0] == "@advance":
                runner.clock_ms += batch[0][1]
                runner.run_batch(1_000, tick=True)
                continue
            topics.produce([(0, step) for step in batch])
            while runner.run_batch(1_000):
                pass
        return {topic: [as_recorded(record) for record in found] for (topic, _), found in topics.read(0)[0].items()}


def on_spark(spark, chosen, mode, kafka=None):
    """Replays the chosen goldens, all of one configuration, in one query; each is a partition of its topology's topics.

    There is a restart in the middle, with another number of Spark partitions. Topics are embedded, or on Kafka if
    `kafka` has `KafkaTopics`.

    Returns outputs by golden, and the step before which each was restarted.
    """
    topology, worlds = combined(chosen)
    with directory() as folder:
        topics = Topics(kafka or embedded_topics(folder), topology._graph, partitions=worlds.partitions)
        where = {"bootstrap_servers": kafka._cluster.bootstrap_servers} if kafka else {"topics_dir": folder / "topics"}
        directories = {"state_dir": folder / "state", "local_dir": folder / "local"}
        batches = [cut(golden, mode, cuts=1) for golden in chosen]
        count = max(map(len, batches))
        one_by_one = mode == "one by one"
        for half, partitions in ((range(count // 2), 1 if one_by_one else 2), (range(count // 2, count), 1)):
            config = settings(chosen[0], **where, **directories, spark_partitions=partitions)
            app = hr.Streams(topology, config, spark=spark)
            if one_by_one:
                app.start()
            try:
                for number in half:
                    steps = [
                        (worlds.partition(golden), worlds.renamed(golden, step))
                        for golden, listed in zip(chosen, batches, strict=True)
                        for step in (listed[number] if number < len(listed) else [])
                    ]
                    topics.produce(steps)
                    # Topics are filled one after another, so a running query could plan a batch before all are.
                    if one_by_one:
                        wait_until_caught_up(app)
                    else:
                        app.process_available()
            finally:
                app.stop()
        read = topics.read(*map(worlds.partition, chosen))
        found = {
            (golden.id, golden.name): worlds.outputs(golden, outputs)
            for golden, outputs in zip(chosen, read, strict=True)
        }
        restarts = {
            (golden.id, golden.name): sum(map(len, listed[: count // 2]))
            for golden, listed in zip(chosen, batches, strict=True)
        }
        return found, restarts


def on_spark_with_a_clock(spark, golden):
    """Replays one golden in a running query whose wall clock the test controls."""
    topology = golden.topology()
    with directory() as folder:
        topics = Topics(embedded_topics(folder), known_graph(golden), partitions=1)
        config = hr.StreamsConfig(
            application_id="golden",
            topics_dir=folder / "topics",
            state_dir=folder / "state",
            local_dir=folder / "local",
        )
        clock = FileClock(folder / "clock")
        app = hr.Streams(topology, config, spark=spark)
        app._application.clock = clock
        app.start()
        try:
            for step in golden.steps:
                wait_until_idle(app, clock)
                if step[0] == "@advance":
                    clock.advance(step[1])
                else:
                    topics.produce([(0, step)])
            wait_until_idle(app, clock)
        finally:
            app.stop()
        return {topic: [as_recorded(record) for record in found] for (topic, _), found in topics.read(0)[0].items()}


def known_graph(golden):
    """The graph of a golden, with those topics of its steps that match a pattern."""
    names = {step[0] for step in golden.steps}
    return with_matching_topics(golden.topology()._graph, dict.fromkeys(names, 1))


def embedded_topics(folder):
    return hr.LocalTopics(folder / "topics")


class Topics:
    """The topics of a topology, filled step by step and read partition by partition."""

    def __init__(self, topics, graph, partitions):
        self._topics = topics
        self._sources = {t: s for s in graph.nodes if isinstance(s, Source) and not s.internal for t in s.topics}
        self._sinks = {s.topic: s for s in graph.nodes if isinstance(s, Sink) and not s.internal}
        self._dynamic_sinks = graph.dynamic_sinks
        for topic in self._sources:
            self._topics.create(topic, partitions if isinstance(partitions, int) else partitions[topic])

    def produce(self, steps):
        by_topic = {}
        for partition, step in steps:
            by_topic.setdefault(step[0], []).append(hr.Record(*step[1:4], headers_of(step), partition=partition))
        for topic, records in by_topic.items():
            self._topics.produce(topic, records, *DEFAULTS.serdes(self._sources[topic]))

    def read(self, *partitions):
        """The records of the output topics, for each of the partitions; every topic is read once."""
        known = self._topics.list()
        sinks = dict(self._sinks)
        if self._dynamic_sinks:
            found = {topic: self._dynamic_sink(topic) for topic in known if topic not in {*self._sources, *sinks}}
            sinks |= {topic: sink for topic, sink in found.items() if sink is not None}
        everything = {
            topic: self._topics.read(topic, *DEFAULTS.serdes(sink)) if topic in known else []
            for topic, sink in sinks.items()
        }
        # A partitioner may have dropped all records of a topic that a function chose.
        everything = {topic: records for topic, records in everything.items() if records or topic in self._sinks}
        return [
            {
                (topic, partition): [record for record in records if record.partition == partition]
                for topic, records in everything.items()
            }
            for partition in partitions
        ]

    def _dynamic_sink(self, topic):
        """The sink that has written a topic: all of one copy of a topology have the same serdes."""
        return next((sink for sink in self._dynamic_sinks if _copy(sink.name) == _copy(topic)), None)


def _copy(name):
    """The prefix of a copy of a topology, if there are copies."""
    return re.match(r"(t\d+\.)?", name)[0]


@contextmanager
def directory():
    folder = Path(tempfile.mkdtemp(prefix="headrace-golden-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
