"""The application: its topology, and Spark's part in running it, with workers that may be killed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import msgspec

from headrace._graph.graph import Graph
from headrace._graph.nodes import Source
from headrace._runtime.spark import starting
from headrace._runtime.spark.planning.batch_planner import BatchPlanner
from headrace._runtime.spark.planning.plan import Stage
from headrace._runtime.spark.session.session import parallelism
from headrace._runtime.spark.stages.committing import commit, write_part
from headrace._runtime.spark.stages.frames import INGEST, Frame
from headrace._runtime.spark.stages.fused import FusedRound
from headrace._runtime.spark.stages.task_runner import TaskRunner, task_name
from headrace._runtime.spark.state_directory import log as state_directory
from headrace._runtime.spark.state_directory.log import current_view, state_log
from headrace._runtime.spark.topics.backend import SinkTask
from headrace._state.log.reading import CommittedTasks
from headrace.model.offset_reset import AutoOffsetReset
from tests.property.crashes.expected import PARTITIONS, contents
from tests.property.crashes.topics import BatchLost
from tests.support.simulation.scheduler import Killed

STORE = "counts"
SOURCE = Source(name="in", topics=("in",), key_serde=None, value_serde=None)
BLUEPRINT = SimpleNamespace(
    graph=Graph((SOURCE,), {}),
    sub=SimpleNamespace(
        number=0,
        internal_topics=(),
        sources=(SOURCE,),
        source_topics=("in",),
        global_topics=(),
        sinks=(),
        handed_over=(),
        stores=(STORE,),
    ),
    defaults=SimpleNamespace(guard=None, error_handlers=SimpleNamespace(dead_letter_topic=None)),
    stores=(STORE,),
    extractors={},
    needs_ticks=False,
)
STAGE = Stage(0, BLUEPRINT, PARTITIONS, inline=False)
CORES = 2


def run_application(world, actor):
    Driver(world, actor).run()


class Driver:
    """One start of the application, in place of Spark's driver: runs batches in workers that may be killed."""

    def __init__(self, world, actor):
        self._world = world
        self._actor = actor
        self._workers = []

    def run(self):
        world = self._world
        config = SimpleNamespace(
            application_id="model",
            state_dir=Path(self._actor.name),
            sync_state=True,
            offset_reset=AutoOffsetReset.earliest(),
        )
        wanted = world.random.choice((None, None, 1, 2, 3))
        plan = self._actor.plan = starting.start(None, config, self._actor.name, partial(parallelism, CORES, wanted))
        world.check_start(plan)
        backend = world.backend(plan)
        planner, step = BatchPlanner(plan, backend), 0
        while not world.undisturbed or world.until is not None:
            step += 1
            view = current_view(plan)
            backend.publish(plan, view.state)
            batch = planner.next(view, world.until)
            if batch is None:
                return
            if batch.spread:
                self._run_spread(plan, planner, view, msgspec.structs.replace(batch, step=step))
            else:
                self._in_worker(plan, lambda plan: FusedRound(plan, world.backend(plan), world.until).run())

    def _run_spread(self, plan, planner, view, batch):
        """Runs a batch as the reader, stages and writer of a Spark query do."""
        world = self._world
        if plan.writes_plan_ahead:
            state_log(plan).plan(view, batch)
        ranges = plan.ranges(planner.starts(current_view(plan)), batch.ends)
        frames = [frame for place, first, last in ranges for frame in ingest(plan, *place, first, last, None)]
        routes = plan.routes[0].tasks
        results = []
        for number in range(plan.spark_partitions):
            received = [frame for frame in frames if routes.index(frame.target) % plan.spark_partitions == number]
            if received:
                results += self._in_worker(plan, partial(_run_stage, batch=batch, number=number, received=received))
        parts = []
        for task in range(plan.spark_partitions):
            received = [frame for frame in results if frame.target % plan.spark_partitions == task]
            sink = SinkTask(task, step=batch.step)
            write = partial(_write_part, world=world, received=received, sink=sink)
            parts.append(self._in_worker(plan, write))
        self._in_worker(
            plan,
            lambda plan: commit(plan, world.backend(plan), current_view(plan, batch.batch - 1), batch, parts),
            attempts=1,
        )

    def _in_worker(self, plan, body, attempts=3):
        """Runs a task, and again if its worker is killed; sometimes also as an attempt that Spark has given up."""
        world = self._world
        if attempts > 1 and not world.undisturbed and world.random.random() < 0.15:
            world.spawn_attempt(plan, body)
        for _ in range(attempts):
            if len(self._workers) < 2 or world.random.random() < 0.3:
                self._workers.append(world.new_name("worker"))
            name = world.random.choice(self._workers)
            self._actor.names.add(name)
            with suppress(Killed), world.simulation.process(name) as process:
                try:
                    return body(replace(plan, state_dir=name))
                except Killed as killed:
                    self._workers.remove(name)
                    if killed.process is not process:
                        raise
        raise BatchLost


def _write_part(plan, *, world, received, sink):
    return write_part(plan, world.backend(plan), received, sink)


def _run_stage(plan, *, batch, number, received):
    view = current_view(plan)
    if view.state.batch != batch.batch - 1:
        raise BatchLost  # a given-up attempt that starts late: the state is no longer the one before its batch
    with TaskRunner(plan, view, f"0.{number}") as runner:
        return [*runner.run_stage(STAGE, received), runner.finish()]


def read_now_and_then(world, actor):
    """Reads the stores beside the application, with long pauses, and checks that one commit left what it reads."""
    log = state_directory.open_log(actor.name, "model")
    names = [task_name(STAGE, partition) for partition in range(PARTITIONS)]
    while not world.undisturbed:
        world.simulation.pause(world.random.choice((1, 20, 300)))
        first = world.newest
        read = CommittedTasks.read(log, names, world.replica_directory, "a reader")
        stored = [
            dict(read.snapshots[name].reader(STORE).range(None, None)) if name in read.snapshots else {}
            for name in names
        ]
        offsets = [seen.offsets for number, seen in world.history.items() if number >= first] or [{}]
        assert stored in [[contents(p, at.get(f"in-{p}", 0)) for p in range(PARTITIONS)] for at in offsets]


def ingest(plan, topic, partition, first, last, tick):
    """Replaces the reading of records: their offsets determine everything about them."""
    yield Frame(
        stage=0,
        target=plan.routes[0].tasks[partition],
        hop=INGEST,
        origin=partition,
        seq=0,
        channel=0,
        payload=msgspec.json.encode((first, last)),
    )
