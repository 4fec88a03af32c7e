"""Runs a stage as a Spark operator, which brings the frames of each task together in one process.

On one machine every process can open every replica, so a stage is a shuffle and a `mapInArrow`. On a cluster a task
should return to the executor that has its replica. Spark does that only for stateful operators, so there a stage is a
`transformWithState` that declares no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from headrace._runtime.spark.planning.plan import Plan, Stage
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.frames import Frame
from headrace._runtime.spark.stages.task_runner import TaskRunner
from headrace._runtime.spark.state_directory.log import current_view
from headrace._runtime.spark.workers import program
from headrace._runtime.spark.workers.failures import pack_errors

_ROWS_PER_BATCH = 16
_ROUTE = "route"


def with_stage(stream: Any, plan: Plan, packed_plan: bytes, stage: Stage, *, keeps_place: bool) -> Any:
    """Adds a stage to a stream of frames.

    `keeps_place` is for clusters: Spark then prefers to run each task on the executor that has its replica.
    """
    routed = stream.selectExpr("*", f"{_route(plan, stage.index)} as {_ROUTE}")
    if keeps_place:
        return routed.groupBy(_ROUTE).transformWithState(
            _StageProcessor(packed_plan, stage.index), frames.DDL, "append", "none"
        )
    shuffled = routed.repartition(plan.spark_partitions, _ROUTE).drop(_ROUTE)
    return shuffled.mapInArrow(_StageFunction(packed_plan, stage.index), frames.DDL)


def _route(plan: Plan, index: int) -> str:
    """The SQL expression for the grouping key of a frame: the route of its task, or one to pass through the stage."""
    passing = ", ".join(map(str, plan.routes[index].pass_through))
    through = f"element_at(array({passing}), cast(pmod(target, {plan.spark_partitions}) as int) + 1)"
    return f"case when stage = {index} then target else {through} end"


class _StageFunction:
    """Runs all tasks of a stage that are in one Spark partition."""

    def __init__(self, packed_plan: bytes, index: int) -> None:
        self._packed_plan = packed_plan
        self._index = index

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = [frame for batch in batches for frame in frames.from_rows(batch)]
        if received:
            with pack_errors():
                yield from _to_rows(_run_stage(program.load(self._packed_plan), self._index, received))


class _StageProcessor(StatefulProcessor):
    """Runs one task of a stage, or passes frames through. Spark calls it with all frames of one grouping key."""

    def __init__(self, packed_plan: bytes, index: int) -> None:
        self._packed_plan = packed_plan
        self._index = index

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares no state to Spark: the tasks have their state in the state directory."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        received = [Frame(*(row[name] for name in Frame._fields)) for row in rows]
        with pack_errors():
            for frame in _run_stage(program.load(self._packed_plan), self._index, received):
                yield Row(**frame._asdict())

    def close(self) -> None:
        """Has nothing to close: replicas stay open for the next batch, whichever task runs it."""


def _run_stage(plan: Plan, index: int, received: list[Frame]) -> Iterator[Frame]:
    own = [frame for frame in received if frame.stage == index]
    yield from (frame for frame in received if frame.stage != index)
    if not own:
        return
    context = TaskContext.get()
    assert context is not None
    writer = f"{index}.{context.partitionId()}"
    with TaskRunner(plan, current_view(plan), writer) as runner:
        yield from runner.run_stage(plan.stages[index], own)
        yield runner.finish()


def _to_rows(produced: Iterable[Frame]) -> Iterator[pa.RecordBatch]:
    waiting: list[Frame] = []
    for frame in produced:
        waiting.append(frame)
        if len(waiting) >= _ROWS_PER_BATCH:
            yield frames.to_rows(waiting)
            waiting = []
    if waiting:
        yield frames.to_rows(waiting)
