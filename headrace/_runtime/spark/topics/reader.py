"""Reads topics for Spark: plans micro-batches on the driver, reads and ingests their records on the workers."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from headrace._runtime.spark.planning.batch_planner import BatchPlanner
from headrace._runtime.spark.planning.clock import system_clock
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.frames import Frame, Tick
from headrace._runtime.spark.stages.fused import FusedRound
from headrace._runtime.spark.stages.ingest import batch_frame, ingest, tick_frames
from headrace._runtime.spark.state_directory.log import current_view, state_log
from headrace._runtime.spark.state_directory.requests import FinishFile, PauseFile
from headrace._runtime.spark.topics.backend import TopicBackend, backend_of
from headrace._runtime.spark.workers import program
from headrace._runtime.spark.workers.failures import pack_errors
from headrace._state.log.entries import BatchPlan
from headrace.topics.kafka.cluster import Place

_ROWS_PER_READ = 16
_WAIT_S = 0.5
_STEP = "step"

Offsets = dict[str, int]


@dataclass
class Slice(InputPartition):
    """What one Spark task reads of a spread batch, or a round of fused batches if `batch` is `None`.

    Attributes:
        batch: the plan of the spread batch.
        leads: whether it is the first slice of the batch, which also sends the plan of the batch and the ticks.
        until: the end offsets of a catch-up run, for a round of fused batches.
        ranges: topic-partitions with first offset, the offset after the last record, and where the records are stored.
    """

    batch: BatchPlan | None
    leads: bool
    until: dict[str, int] | None
    ranges: list[tuple[Place, int, int, Any]]

    def __init__(self, batch: BatchPlan | None, *, leads: bool, until: dict[str, int] | None = None) -> None:
        super().__init__(None)
        self.batch = batch
        self.leads = leads
        self.until = until
        self.ranges = []


class TopicsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Makes Spark run micro-batches. Spark's offsets only count them; the state log has the offsets of topics."""

    def __init__(self, packed_plan: bytes) -> None:
        self._packed_plan = packed_plan
        self._until: dict[str, int] | None = None
        self._next: BatchPlan | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802
        return {_STEP: 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with pack_errors():
            self._until = self._planner.ends()

    def reportLatestOffset(self) -> Offsets | None:  # noqa: N802
        return None

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: ARG002, N802
        with pack_errors():
            plan, step = self._plan, start[_STEP] + 1
            if FinishFile(plan.state_dir).is_requested(plan.run):
                return start
            if PauseFile(plan.state_dir).is_requested(plan.run):
                time.sleep(_WAIT_S)
                return start
            view = current_view(plan)
            self._backend.publish(plan, view.state)
            batch = self._planner.next(view, self._until)
            if batch is None and self._until is None:
                if plan.fuses:
                    self._next = None
                    return {_STEP: step}
                self._backend.await_records(plan, self._planner.starts(view), _WAIT_S)
                batch = self._planner.next(view)
            if batch is None:
                return start
            self._next = batch if batch.spread else None
            if batch.spread:
                self._next = msgspec.structs.replace(batch, step=step, planned_ms=batch.planned_ms or system_clock())
                if plan.writes_plan_ahead:
                    state_log(plan).plan(view, self._next)
            return {_STEP: step}

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:  # noqa: ARG002
        batch = self._next
        if batch is None:
            return [Slice(None, leads=True, until=self._until)]
        with pack_errors():
            plan = self._plan
            slices = [Slice(batch, leads=not number) for number in range(batch.spread)]
            starts = self._planner.starts(current_view(plan))
            for filled, (place, first, last) in enumerate(plan.ranges(starts, batch.ends)):
                number = _fixed_number(place) if self._backend.has_fixed_slices else filled
                located = self._backend.locate(place, first, last)
                slices[number % len(slices)].ranges.append((place, first, last, located))
            # If all stages are inline, each sink task writes the output of one slice. Its number must not change when
            # the batch is repeated, so empty slices stay.
            keep_empty = self._backend.has_fixed_slices and not plan.chain
            return [one for one in slices if one.ranges or one.leads or keep_empty]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Slice)
        with pack_errors():
            plan = program.load(self._packed_plan)
            backend, batch = backend_of(plan), partition.batch
            if batch is None:
                context = TaskContext.get()
                repeated = context is not None and context.attemptNumber() > 0
                FusedRound(plan, backend, partition.until, repeated=repeated).run()
                return
            tick = None if batch.clock_ms is None else Tick(batch.clock_ms, batch.run)
            if partition.leads:
                ticks = tick_frames(plan, tick) if tick is not None and plan.needs_ticks else ()
                yield frames.to_rows([batch_frame(batch), *ticks])
            for place, first, last, located in partition.ranges:
                waiting: list[Frame] = []
                for frame in ingest(plan, *place, first, backend.read(place, first, last, located), tick):
                    waiting.append(frame)
                    if len(waiting) >= _ROWS_PER_READ:
                        yield frames.to_rows(waiting)
                        waiting = []
                if waiting:
                    yield frames.to_rows(waiting)

    @property
    def _plan(self) -> Plan:
        return program.load(self._packed_plan)

    @cached_property
    def _backend(self) -> TopicBackend:
        return backend_of(self._plan)

    @cached_property
    def _planner(self) -> BatchPlanner:
        return BatchPlanner(self._plan, self._backend)


def _fixed_number(place: Place) -> int:
    """The number of a topic-partition; modulo the number of slices, it is the slice that reads the partition.

    The partitions of a topic have consecutive numbers. Which other topics there are does not matter, so a repeated
    batch has the same slices.
    """
    return zlib.crc32(place[0].encode()) + place[1]
