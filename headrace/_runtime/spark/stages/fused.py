"""Fused micro-batches: one Spark task reads, processes, writes and commits, batch after batch.

A Spark micro-batch costs a tenth of a second however little it does. While there is little input, all tasks of all
stages therefore run in one process, which commits each batch to the state log itself. Frames and their order are the
same as between Spark partitions, so the results are the same, too.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from headrace._runtime.spark.planning.batch_planner import BatchPlanner, estimate_record_us
from headrace._runtime.spark.planning.clock import system_clock
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages.committing import commit, write_part
from headrace._runtime.spark.stages.frames import Frame, Tick
from headrace._runtime.spark.stages.ingest import ingest, tick_frames
from headrace._runtime.spark.stages.task_runner import TaskRunner
from headrace._runtime.spark.state_directory.log import current_view, state_log
from headrace._runtime.spark.state_directory.requests import FinishFile, PauseFile
from headrace._runtime.spark.topics.backend import SinkTask, TopicBackend
from headrace._state.log.entries import BatchPlan
from headrace._state.log.state_log import LogView

_CHECK_EVERY_S = 0.1


class FusedRound:
    """Runs micro-batches in one Spark task, for up to `plan.round_s` seconds. Another process may run the next round.

    Args:
        plan: the plan of the query.
        backend: the topics.
        until: the end offsets of a catch-up run; `None` for a run that waits for new records.
        repeated: whether Spark has attempted this round before.
    """

    def __init__(
        self, plan: Plan, backend: TopicBackend, until: dict[str, int] | None, *, repeated: bool = False
    ) -> None:
        self._plan = plan
        self._backend = backend
        self._until = until
        self._repeated = repeated
        self._planner = BatchPlanner(plan, backend)

    def run(self) -> None:
        """Runs batches until a catch-up run is done, a batch should be spread, the run is to stop, or time is up."""
        plan = self._plan
        view = current_view(plan)
        self._backend.publish(plan, view.state)
        finish, pause = FinishFile(plan.state_dir), PauseFile(plan.state_dir)
        ends_s = time.monotonic() + plan.round_s
        while time.monotonic() < ends_s and not finish.is_requested(plan.run):
            if pause.is_requested(plan.run):
                time.sleep(_CHECK_EVERY_S)
                continue
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
        batch = msgspec.structs.replace(batch, planned_ms=batch.planned_ms or system_clock())
        if plan.writes_plan_ahead and view.unfinished is None:
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
            runner.compact_idle_task()
            remaining = [frame for frames in waiting.values() for frame in frames]
            task = SinkTask(number=0, batch=batch.batch, repeated=self._repeated)
            part = write_part(plan, self._backend, [*remaining, runner.finish()], task)
        records = sum(last - first for _, first, last in plan.ranges(starts, batch.ends))
        part.record_us = estimate_record_us(view.state, records, time.monotonic() - began_s)
        view = commit(plan, self._backend, view, batch, [part])
        runner.update_replicas()
        return view

    def _ingest(self, starts: list[int], batch: BatchPlan) -> Iterator[Frame]:
        plan = self._plan
        tick = None if batch.clock_ms is None else Tick(batch.clock_ms, batch.run)
        if tick is not None and plan.needs_ticks:
            yield from tick_frames(plan, tick)
        for place, first, last in plan.ranges(starts, batch.ends):
            located = self._backend.locate(place, first, last)
            yield from ingest(plan, *place, first, self._backend.read(place, first, last, located), tick)

    def _pause(self, until_s: float, finish: FinishFile) -> None:
        """Waits until the time `until_s`, when the commit interval is over, or until the run is asked to stop."""
        while (left_s := until_s - time.monotonic()) > 0 and not finish.is_requested(self._plan.run):
            time.sleep(min(left_s, _CHECK_EVERY_S))

    def _wait(self, view: LogView) -> None:
        """Waits until there may be new records, or something is due on the wall clock."""
        within_s = _CHECK_EVERY_S
        if self._plan.needs_ticks and view.state.alarm_ms is not None:
            within_s = min(within_s, max(0.0, (view.state.alarm_ms - self._plan.clock()) / 1000))
        self._backend.await_records(self._plan, self._planner.starts(view), within_s)
