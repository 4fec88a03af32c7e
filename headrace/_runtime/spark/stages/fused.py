"""Micro-batches without Spark's part in them: one Spark task reads, processes, writes and commits, batch after batch.

A Spark micro-batch costs a tenth of a second however little it does. While the input is a trickle, all tasks of all
stages therefore run in one process, which commits each batch to the state log itself. Frames and order are the same as
between Spark partitions, so results are, too.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator

from headrace._runtime.spark.planning.batch_planner import BatchPlanner, measured_us
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages.committing import commit, write_part
from headrace._runtime.spark.stages.frames import Frame, Tick
from headrace._runtime.spark.stages.ingest import ingest, tick_frames
from headrace._runtime.spark.stages.stage import TaskRunner
from headrace._runtime.spark.state_directory.finish import FinishFile
from headrace._runtime.spark.state_directory.log import current_view, state_log
from headrace._runtime.spark.topics.backend import SinkTask, TopicBackend
from headrace._state.log.entries import BatchPlan
from headrace._state.log.state_log import LogView

_LOOK_UP_S = 0.1


class FusedRound:
    """A number of micro-batches in one Spark task; the next one may run in another process.

    Args:
        until: where a run that ends by itself ends; `None` for one that waits for more.
    """

    def __init__(self, plan: Plan, backend: TopicBackend, until: dict[str, int] | None) -> None:
        self._plan = plan
        self._backend = backend
        self._until = until
        self._planner = BatchPlanner(plan, backend)

    def run(self) -> None:
        """Runs batches until there is nothing left to do, a batch should be spread, or others should have a turn."""
        plan = self._plan
        view = current_view(plan)
        self._backend.publish(plan, view.state)
        finish = FinishFile(plan.state_dir)
        ends_s = time.monotonic() + plan.round_s
        while time.monotonic() < ends_s and not finish.asks(plan.run):
            batch = self._planner.next(view, self._until)
            if batch is not None and batch.spread:
                return
            if batch is not None:
                began_s = time.monotonic()
                view = self.run_batch(view, batch)
                if self._until is None:
                    self._pause(began_s + plan.commit_interval_s, finish)
            elif self._until is not None:
                return
            else:
                self._wait(view)

    def run_batch(self, view: LogView, batch: BatchPlan) -> LogView:
        """Runs one batch from beginning to end."""
        plan = self._plan
        if plan.plans_first and view.unfinished is None:
            view = state_log(plan).plan(view, batch)
        began_s = time.monotonic()
        starts = self._planner.starts(view)
        with TaskRunner(plan, view, "fused") as runner:
            waiting: defaultdict[int, list[Frame]] = defaultdict(list)
            for frame in self._ingest(starts, batch):
                waiting[frame.stage].append(frame)
            for stage in plan.chain:
                for frame in runner.run_stage(stage, waiting.pop(stage.index, [])):
                    waiting[frame.stage].append(frame)
            runner.tidy()
            made = [frame for frames in waiting.values() for frame in frames]
            part = write_part(plan, self._backend, [*made, runner.finish()], SinkTask(0, batch=batch.batch))
        records = sum(last - first for _, first, last in plan.ranges(starts, batch.ends))
        part.record_us = measured_us(view.state, records, time.monotonic() - began_s)
        return commit(plan, self._backend, view, batch, [part])

    def _ingest(self, starts: list[int], batch: BatchPlan) -> Iterator[Frame]:
        plan = self._plan
        tick = None if batch.clock_ms is None else Tick(batch.clock_ms, batch.run)
        if tick is not None and plan.timed:
            yield from tick_frames(plan, tick)
        for place, first, last in plan.ranges(starts, batch.ends):
            located = self._backend.locate(place, first, last)
            yield from ingest(plan, *place, first, self._backend.read(place, first, last, located), tick)

    def _pause(self, until_s: float, finish: FinishFile) -> None:
        """Keeps the time between the starts of two batches that the settings ask for."""
        while (left_s := until_s - time.monotonic()) > 0 and not finish.asks(self._plan.run):
            time.sleep(min(left_s, _LOOK_UP_S))

    def _wait(self, view: LogView) -> None:
        """Until there may be something to do."""
        within_s = _LOOK_UP_S
        if self._plan.timed and view.state.alarm_ms is not None:
            within_s = min(within_s, max(0.0, (view.state.alarm_ms - self._plan.clock()) / 1000))
        self._backend.await_records(self._plan, self._planner.starts(view), within_s)
