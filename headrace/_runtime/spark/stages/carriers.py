"""How Spark carries a stage: what brings the frames of a task together, in a process that runs it.

On one machine any process reaches every replica, so a stage is a shuffle and a `mapInArrow`. On a cluster a task should
return to the executor that has its replica. Spark does that for operators with state: there a stage is a
`transformWithState` that keeps no state of its own.
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
from headrace._runtime.spark.stages.stage import TaskRunner
from headrace._runtime.spark.state_directory.log import current_view
from headrace._runtime.spark.workers import program
from headrace._runtime.spark.workers.failures import reported

_ROWS_AT_A_TIME = 16
_ROUTE = "route"


def with_stage(stream: Any, plan: Plan, packed: bytes, stage: Stage, *, keeps_place: bool) -> Any:
    """A stream of frames behind a stage."""
    routed = stream.selectExpr("*", f"{_route(plan, stage.index)} as {_ROUTE}")
    if keeps_place:
        return routed.groupBy(_ROUTE).transformWithState(
            _StageProcessor(packed, stage.index), frames.DDL, "append", "none"
        )
    shuffled = routed.repartition(plan.spark_partitions, _ROUTE).drop(_ROUTE)
    return shuffled.mapInArrow(_StageFunction(packed, stage.index), frames.DDL)


def _route(plan: Plan, index: int) -> str:
    """The grouping key of a frame at a stage: its task's route, or one that lets it pass."""
    passing = ", ".join(map(str, plan.routes[index][1]))
    through = f"element_at(array({passing}), cast(pmod(target, {plan.spark_partitions}) as int) + 1)"
    return f"case when stage = {index} then target else {through} end"


class _StageFunction:
    """Runs all tasks of a stage that Spark has put into one partition."""

    def __init__(self, packed: bytes, index: int) -> None:
        self._packed = packed
        self._index = index

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = [frame for batch in batches for frame in frames.from_rows(batch)]
        if received:
            with reported():
                yield from _in_rows(_run_stage(program.load(self._packed), self._index, received))


class _StageProcessor(StatefulProcessor):
    """The same for one group of frames: those of one task, or some that pass."""

    def __init__(self, packed: bytes, index: int) -> None:
        self._packed = packed
        self._index = index

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declares no state: it is in the state log."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        received = [Frame(*(row[name] for name in Frame._fields)) for row in rows]
        with reported():
            for frame in _run_stage(program.load(self._packed), self._index, received):
                yield Row(**frame._asdict())

    def close(self) -> None:
        """Nothing outlives a batch."""


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


def _in_rows(made: Iterable[Frame]) -> Iterator[pa.RecordBatch]:
    waiting: list[Frame] = []
    for frame in made:
        waiting.append(frame)
        if len(waiting) >= _ROWS_AT_A_TIME:
            yield frames.rows(waiting)
            waiting = []
    if waiting:
        yield frames.rows(waiting)
