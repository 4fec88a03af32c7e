"""Spark's part in plain Python: batches through ingest, stages and sink as a query runs them, on real state and topics.

Everything but Spark itself is the product's own code, so thousands of cuts, failures and restarts cost seconds.
"""

from __future__ import annotations

import copy
from collections import defaultdict

from msgspec import json

import headrace as hr
from headrace._core.metrics import readable, total
from headrace._graph.configured import configured
from headrace._runtime.spark.admission import admitted, by_timestamps
from headrace._runtime.spark.frames import METRICS, TO_SINK, Tick
from headrace._runtime.spark.ingest import ingest, tick_frames
from headrace._runtime.spark.plan import make_plan
from headrace._runtime.spark.stage import StageProcessor
from headrace._runtime.spark.topics_writer import write_runs
from headrace._state.durable import MemoryDurable
from headrace.topics.log import TopicLog


class PlanRunner:
    """Runs a topology over the topics of a directory, batch by batch."""

    def __init__(self, topology, directory, *, spark_partitions=2, config=None):
        self.config = config
        self.directory = directory
        self.log = TopicLog(directory / "topics")
        self.generation = 0
        self.topology = topology
        self.spark_partitions = spark_partitions
        self.tasks = defaultdict(MemoryDurable)
        self.offsets = {}
        self.batch = 0
        self.clock_ms = 0
        self.counts = []
        self.run = "first run"
        self.restart()

    def restart(self):
        """Another machine, in the same run of the application: nothing local is left."""
        self.generation += 1
        given = {} if self.config is None else vars(self.config)
        config = hr.StreamsConfig(
            **given
            | {
                "application_id": "test",
                "topics_dir": self.directory / "topics",
                "state_dir": self.directory / "state",
                "local_dir": self.directory / f"local-{self.generation}",
            }
        )
        self.log.refresh()
        self.plan = make_plan(
            configured(self.topology._graph, config),
            config,
            self.log.topics(),
            spark_partitions=self.spark_partitions,
            instance="test",
            epoch=1,
            run=self.run,
        )

    def run_batch(self, limit, *, fail=None, tick=False):
        """One micro-batch of at most `limit` records; False when there was none, unless the clock asks for one.

        `fail`: "before" or "after" the sink's commit the batch is lost, as when the driver is killed there.
        """
        self.log.refresh()
        places = self.plan.places
        starts = [self.offsets.get(place, 0) for place in places]
        ends = [self.log.end_offsets(topic)[partition] for topic, partition in places]
        take = by_timestamps(self.log, places, lambda topic: self.plan.latest_ms(topic, self.clock_ms))
        chosen = admitted(places, starts, ends, limit, take, self.plan.global_topics)
        clock = Tick(self.clock_ms, self.run) if self.plan.clocked else None
        if chosen == starts and not tick:
            return False
        before = copy.deepcopy(dict(self.tasks))
        frames = [
            frame
            for (topic, partition), start, end in zip(places, starts, chosen, strict=True)
            if start < end
            for frame in ingest(self.plan, topic, partition, start, self.log.read(topic, partition, start, end), clock)
        ]
        if self.plan.timed:
            frames += tick_frames(self.plan, clock)
        for stage in self.plan.chain:
            frames = self._through(stage, frames)
        runs = write_runs(self.plan, [frame for frame in frames if frame.stage == TO_SINK])
        if fail != "before":
            create = {topic: self.plan.partitions[topic] for topic in self.plan.sink_topics}
            self.log.commit(runs, producer="test", batch=self.batch, create=create)
        if fail is not None:
            self.tasks = defaultdict(MemoryDurable, before)
            return True
        self.offsets = dict(zip(places, chosen, strict=True))
        self.batch += 1
        self.counts += [json.decode(frame.payload) for frame in frames if frame.stage == METRICS]
        return True

    def metrics(self):
        """What all batches counted."""
        return readable(total(self.counts))

    def _through(self, stage, frames):
        passing = [frame for frame in frames if frame.stage != stage.index]
        received = defaultdict(list)
        for frame in reversed([frame for frame in frames if frame.stage == stage.index]):
            received[frame.target].append(frame)  # a shuffle keeps no order
        routes = self.plan.routes[stage.index][0]
        for route, arrived in received.items():
            processor = StageProcessor(b"", stage.index)
            processor._durable = self.tasks[stage.index, route]
            passing += processor._run(self.plan, stage, routes.index(route), arrived)
        return passing

    def output(self, topic):
        """Keys, values, timestamps by partition, in offset order."""
        self.log.refresh()
        if topic not in self.log.topics():
            return {}
        result = {}
        for partition, end in enumerate(self.log.end_offsets(topic)):
            rows = [batch.to_pydict() for batch in self.log.read(topic, partition, 0, end)]
            result[partition] = [
                row for page in rows for row in zip(page["key"], page["value"], page["timestamp"], strict=True)
            ]
        return result

    def outputs(self):
        return {topic: self.output(topic) for topic in self.plan.sink_topics}
