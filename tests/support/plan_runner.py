"""Runs batches without Spark: through ingest, stages and sink as a query does, on real state and topics.

Everything but Spark itself is the product's own code, and thousands of cuts, failures and restarts take seconds. Some
batches run in one task, others on several Spark partitions: results must not depend on it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import headrace as hr
from headrace._core.metrics import readable
from headrace._graph.configured import configured
from headrace._runtime.spark.planning.batch_planner import BatchPlanner
from headrace._runtime.spark.planning.clock import fixed_clock
from headrace._runtime.spark.stages import committing
from headrace._runtime.spark.stages.frames import Tick
from headrace._runtime.spark.stages.fused import FusedRound
from headrace._runtime.spark.stages.ingest import batch_frame, ingest, tick_frames
from headrace._runtime.spark.stages.task_runner import TaskRunner
from headrace._runtime.spark.starting import start
from headrace._runtime.spark.state_directory.log import current_view, state_log
from headrace._runtime.spark.topics.backend import SinkTask, backend_of
from headrace._state.log.entries import BatchPlan
from headrace.topics.embedded.log import TopicLog


class DriverKilled(Exception):
    """The driver was killed."""


class PlanRunner:
    """Runs a topology over the topics of a directory, batch by batch."""

    def __init__(self, topology, directory, *, spark_partitions=2, config=None, clock_ms=0, run="first run"):
        self.config = config
        self.directory = directory
        self.log = TopicLog(directory / "topics")
        self.generation = 0
        self.topology = topology
        self.spark_partitions = spark_partitions
        self.clock_ms = clock_ms
        self.run = run
        self.restart()

    def restart(self):
        """Continues on another machine, in the same run of the application, without any local state."""
        self.generation += 1
        self._start()

    def _start(self):
        given = {} if self.config is None else vars(self.config)
        config = hr.StreamsConfig(
            **given
            | {
                "application_id": "test",
                "topics_dir": self.directory / "topics",
                "state_dir": self.directory / "state",
                "local_dir": self.directory / f"local-{self.generation}",
                "sync_state": False,
            }
        )
        graph, clock = configured(self.topology._graph, config), fixed_clock(self.clock_ms)
        self.plan = start(graph, config, self.run, lambda *_: (1, True), clock)

    def run_batch(self, limit, *, fail=None, tick=False):
        """Runs one micro-batch of at most `limit` records; returns False if there was none to run.

        With `tick`, a batch without records runs as well. `fail` kills the driver "before" or "after" the commit.
        """
        plan = self.plan = replace(self.plan, max_records=limit, clock=fixed_clock(self.clock_ms))
        view = current_view(plan)
        planner = BatchPlanner(plan, backend_of(plan))
        batch = planner.next(view, planner.ends())
        if batch is None:
            if not tick:
                return False
            batch = BatchPlan(view.state.batch + 1, {}, self.clock_ms, plan.run)
        spread = (0, self.spark_partitions, 0, 1, self.spark_partitions + 1)[batch.batch % 5]
        try:
            self._run_batch(replace(plan, spark_partitions=max(1, spread)), view, batch, spread, fail)
        except DriverKilled:
            self._start()
        return True

    def _run_batch(self, plan, view, batch, spread, fail):
        backend = _FailingBackend(backend_of(plan), fail)
        if not spread:
            return FusedRound(plan, backend, None).run_batch(view, batch)
        frames = self._ingest(plan, view, batch)
        for stage in plan.chain:
            frames = self._run_stage(plan, view, stage, frames)
        parts = [
            committing.write_part(plan, backend, part, SinkTask(task))
            for task, part in self._sink_parts(frames, spread)
        ]
        return committing.commit(plan, backend, view, batch, parts)

    def _ingest(self, plan, view, batch):
        backend, tick = backend_of(plan), None if batch.clock_ms is None else Tick(batch.clock_ms, batch.run)
        frames = [batch_frame(batch)]
        if plan.needs_ticks:
            frames += tick_frames(plan, tick)
        starts = BatchPlanner(plan, backend).starts(view)
        for place, first, last in plan.ranges(starts, batch.ends):
            frames += ingest(
                plan, *place, first, backend.read(place, first, last, backend.locate(place, first, last)), tick
            )
        return frames

    def _run_stage(self, plan, view, stage, frames):
        passing = [frame for frame in frames if frame.stage != stage.index]
        arrived = reversed(
            [frame for frame in frames if frame.stage == stage.index]
        )  # a shuffle does not preserve order
        routes = plan.routes[stage.index].tasks
        by_partition = defaultdict(list)
        for frame in arrived:
            by_partition[routes.index(frame.target) % plan.spark_partitions].append(frame)
        for partition, received in by_partition.items():
            with TaskRunner(plan, view, f"{stage.index}.{partition}") as runner:
                passing += runner.run_stage(stage, received)
                passing.append(runner.finish())
        return passing

    def _sink_parts(self, frames, spread):
        return [(task, frames[task::spread]) for task in range(spread)]

    def metrics(self):
        """The counters of all batches."""
        return readable(state_log(self.plan).view().state.counts)

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


class _FailingBackend:
    """A topic backend that kills the driver before or after the commit."""

    def __init__(self, backend, fail):
        self._backend = backend
        self._fail = fail

    def __getattr__(self, name):
        return getattr(self._backend, name)

    def output(self, runs):
        if self._fail == "before":
            raise DriverKilled
        return self._backend.output(runs)

    def publish(self, plan, state):
        if self._fail == "after":
            raise DriverKilled
        self._backend.publish(plan, state)
