"""A stage on Spark: one `transformWithState`, its groups the tasks of a sub-topology."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from headrace._core.chunk import Chunk
from headrace._core.metrics import Metrics
from headrace._runtime.assemble import TASK
from headrace._runtime.spark import frames, program
from headrace._runtime.spark.collector import FrameCollector
from headrace._runtime.spark.failures import reported
from headrace._runtime.spark.frames import ALARM, TICK, Frame, Tick
from headrace._runtime.spark.ingest import metrics_frame
from headrace._runtime.spark.lives import LifeKeeper
from headrace._runtime.spark.plan import Plan, Stage
from headrace._runtime.spark.state_bridge import SparkDurableTask
from headrace._state.changelog import TaskState
from headrace._state.replica import Replica, replicas_of


class StageProcessor(StatefulProcessor):
    """Runs a task when its grouping key is a task's route; lets frames for later stages pass."""

    def __init__(self, packed: bytes, index: int) -> None:
        self._packed = packed
        self._index = index

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._durable = SparkDurableTask(handle)

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        plan = program.load(self._packed)
        task_routes, _ = plan.routes[self._index]
        route = int(key[0])
        if route not in task_routes:
            yield from map(_as_row, map(_as_frame, rows))
            return
        with reported():
            received = list(map(_as_frame, rows))
            yield from map(_as_row, self._run(plan, plan.stages[self._index], task_routes.index(route), received))

    def close(self) -> None:
        """Nothing outlives a batch."""

    def _run(self, plan: Plan, stage: Stage, partition: int, received: Iterable[Frame]) -> Iterator[Frame]:
        metrics = Metrics()
        collector = FrameCollector(plan, stage.index, partition, partition)
        tick, chunks = _sorted_out(plan, received)
        with self._state(plan, stage, partition) as state:
            stores = {name: state.store(name) for name in stage.blueprint.stores}
            keeper = LifeKeeper(stores[TASK], tick.run) if stage.blueprint.has_processors else None
            task = stage.blueprint.make_task(
                partition,
                stores,
                collector,
                metrics,
                plan.places,
                system_time_ms=tick.clock_ms,
                revive=keeper.revive if keeper else None,
            )
            collector.context = task.context
            for _ in task.process(chunks):
                yield from collector.drain()
            yield from collector.finish()
            if stage.blueprint.ticks:
                task.punctuate()
                yield from collector.finish()
                if keeper is not None and task.processors is not None:
                    keeper.keep(task.processors)
                yield Frame(ALARM, 0, 0, 0, 0, 0, msgspec.json.encode(task.next_wall_clock_ms()))
            state.commit()
        yield metrics_frame(metrics)

    def _state(self, plan: Plan, stage: Stage, partition: int) -> TaskState:
        local = replicas_of(plan.instance, plan.local_dir)
        describe = f"application {plan.application_id!r}, task {stage.blueprint.sub.number}_{partition}"
        return TaskState(self._durable, Replica(local / f"{stage.index}-{partition}"), describe)


def _sorted_out(plan: Plan, received: Iterable[Frame]) -> tuple[Tick, list[Chunk]]:
    """The tick of the batch, if there is one, and the records."""
    tick, chunks = Tick(0, ""), []
    for frame in sorted(received, key=_made):
        if frame.channel == TICK:
            tick = msgspec.json.decode(frame.payload, type=Tick)
        else:
            chunks.append(_chunk(plan, frame))
    return tick, chunks


def _as_frame(row: Row) -> Frame:
    return Frame(*(row[name] for name in Frame._fields))


def _as_row(frame: Frame) -> Row:
    return Row(**frame._asdict())


def _made(frame: Frame) -> tuple[int, int, int, int]:
    """Decides between records that descend from the same input record: never by how the batch was cut."""
    return frame.hop, frame.origin, frame.channel, frame.seq


def _chunk(plan: Plan, frame: Frame) -> Chunk:
    payload, topic = frame.payload, plan.topics[frame.channel]
    return Chunk(
        topic,
        *frames.decode_order(payload),
        lambda: frames.to_columns(frames.decode(payload)),
        lambda: frames.decode(payload),
        (frame.hop, frame.origin),
        topic in plan.handed_over,
    )
