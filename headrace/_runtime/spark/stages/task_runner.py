"""Runs the tasks of a stage: each processes the frames of its partition, on its own state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import msgspec

from headrace._core.metrics import Metrics
from headrace._core.task.chunk import Chunk
from headrace._runtime.spark.planning.plan import Plan, Stage
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.collector import FrameCollector
from headrace._runtime.spark.stages.frames import ALARM, STATE, TICK, Frame, Tick
from headrace._runtime.spark.stages.ingest import metrics_frame
from headrace._runtime.spark.stages.processor_state import SavedProcessorState
from headrace._runtime.spark.state_directory.log import state_log
from headrace._state.changes.durable import DurableTask
from headrace._state.changes.task_state import TaskState, apply_last_delta
from headrace._state.log.objects import MissingObjectError, ObjectWriter, sparse
from headrace._state.log.state_log import LogView
from headrace._state.log.task import LoggedTask, WrittenState
from headrace._state.replica.replica import Replica, replicas_of


class TaskRunner:
    """Runs tasks of one micro-batch in this process. All state that they write goes into one object.

    Args:
        plan: the plan of the query.
        view: the state log as of the last batch.
        writer: a name for this process that no other process of the same batch has.
    """

    def __init__(self, plan: Plan, view: LogView, writer: str) -> None:
        self._plan = plan
        self._view = view
        self._log = state_log(plan)
        self._files = self._log.files
        self._object = ObjectWriter(self._files, plan.epoch, view.state.batch + 1, writer)
        self._written = WrittenState()
        self._sparse = sparse(view.state)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._object.__exit__(kind, error, trace)

    def run_stage(self, stage: Stage, received: Iterable[Frame]) -> Iterator[Frame]:
        """Runs every task of a stage that has frames, and yields the frames they write."""
        by_task: defaultdict[int, list[Frame]] = defaultdict(list)
        for frame in received:
            by_task[frame.target].append(frame)
        for partition, route in enumerate(self._plan.routes[stage.index].tasks):
            if route in by_task:
                yield from self._run(stage, partition, by_task[route])

    def compact_idle_task(self) -> None:
        """Copies the state of one task without frames out of objects that are mostly dead, so that they can be deleted.

        Each batch considers the next task in turn. Call it only if this process runs all tasks of the batch: otherwise
        two processes might write the state of the same task.
        """
        names = sorted(self._view.state.heads) if self._sparse else []
        if names:
            name = names[self._view.state.batch % len(names)]
            with self._superseded_if_missing():
                durable = self._durable(name, f"application {self._plan.application_id!r}, task {name}")
                if name not in self._written.heads and durable.has_blobs_in(self._sparse):
                    durable.put_head(durable.get_head() or b"")
                    self._written.add(durable.written)

    def finish(self) -> Frame:
        """Syncs the object that holds the changed state of all tasks, and returns a frame for the commit.

        The frame says where in the object each task's new head is. Call it after the last task.
        """
        self._written.objects.update(self._object.finish())
        return frames.for_commit(STATE, self._written)

    def update_replicas(self) -> None:
        """Brings the replicas of the tasks that ran up to date, after the commit of the batch."""
        for name in self._written.heads:
            apply_last_delta(replica_of(self._plan, name))

    def _run(self, stage: Stage, partition: int, received: Iterable[Frame]) -> Iterator[Frame]:
        name = task_name(stage, partition)
        describe = f"application {self._plan.application_id!r}, task {stage.blueprint.sub.number}_{partition}"
        with self._superseded_if_missing():
            durable = self._durable(name, describe)
            yield from run_task(self._plan, stage, partition, received, durable, describe)
        self._written.add(durable.written)

    @contextmanager
    def _superseded_if_missing(self) -> Iterator[None]:
        """Replaces a `MissingObjectError` with a `TakenOverError` if the state log has changed since it was read.

        Then another start or attempt has continued while this process was paused, or the application was reset, and
        the object may have been deleted because only this process still needs it. If the log has not changed, the
        `MissingObjectError` is raised: the state directory is damaged.
        """
        try:
            yield
        except MissingObjectError as error:
            now = self._log.view()
            if now is None or now.number != self._view.number:
                raise self._log.superseded(self._plan.epoch, self._plan.instance) from error
            raise

    def _durable(self, name: str, describe: str) -> LoggedTask:
        head = self._view.state.heads.get(name)
        return LoggedTask(self._files, self._object, name, head, describe, sparse=self._sparse)


def task_name(stage: Stage, partition: int) -> str:
    """The name of a task in the state log, and of its replica: the index of the stage, then the partition."""
    return f"{stage.index}-{partition}"


def run_task(
    plan: Plan, stage: Stage, partition: int, received: Iterable[Frame], durable: DurableTask, describe: str
) -> Iterator[Frame]:
    """Runs one task over one batch: yields the frames that it writes, and adds its changes to its durable state."""
    metrics = Metrics()
    collector = FrameCollector(plan, stage.index, partition, partition)
    tick, chunks = _decode_received(plan, received)
    with TaskState(durable, replica_of(plan, task_name(stage, partition)), describe) as state:
        stores = {name: state.store(name) for name in stage.blueprint.stores}
        saved = SavedProcessorState(state, tick.run) if stage.blueprint.has_processors else None
        task = stage.blueprint.make_task(
            partition,
            stores,
            collector,
            metrics,
            plan.places,
            system_time_ms=tick.clock_ms,
            load_state=saved.load if saved else None,
        )
        collector.context = task.context
        for _ in task.process(chunks):
            yield from collector.drain()
        yield from collector.finish()
        if stage.blueprint.needs_ticks:
            task.punctuate()
            yield from collector.finish()
            if saved is not None and task.processors is not None:
                saved.save(task.processors)
            yield frames.for_commit(ALARM, task.next_wall_clock_ms())
        state.commit()
        task.context.errors.end_batch()
    yield metrics_frame(metrics)


def replica_of(plan: Plan, task: str) -> Replica:
    """The replica of a task on this machine."""
    return Replica(replicas_of(plan.instance, plan.local_dir) / task, stays_open=True)


def _decode_received(plan: Plan, received: Iterable[Frame]) -> tuple[Tick, list[Chunk]]:
    """Decodes the tick of the batch (an empty one if the plan needs no clock), and the records as chunks, in order."""
    tick, chunks = Tick(clock_ms=0, run=""), []
    for frame in sorted(received, key=_creation_order):
        if frame.channel == TICK:
            tick = msgspec.json.decode(frame.payload, type=Tick)
        else:
            chunks.append(_chunk(plan, frame))
    return tick, chunks


def _creation_order(frame: Frame) -> tuple[int, int, int, int]:
    """The sort key of frames. Records that descend from the same input record get the same order in any batch."""
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
