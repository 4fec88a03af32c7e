"""The end of a micro-batch: output is written, then one entry of the state log commits all of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from headrace._core.metrics import Counts, Metrics, total
from headrace._runtime.spark.planning.clock import system_clock
from headrace._runtime.spark.planning.plan import Plan
from headrace._runtime.spark.stages.frames import ALARM, BATCH, METRICS, STATE, TO_SINK, Frame
from headrace._runtime.spark.state_directory.log import state_log
from headrace._runtime.spark.topics.backend import SinkTask, TopicBackend
from headrace._state.log.entries import BatchPlan, Commit
from headrace._state.log.objects import delete, expired
from headrace._state.log.state_log import LogView
from headrace._state.log.task import WrittenState
from headrace.topics.embedded.log import SegmentRun


@dataclass
class BatchPart:
    """One sink task's part of a batch: the output to publish, the state that tasks have written, counters, alarms.

    Only the sink task that received the plan of the batch sets `batch`. `record_us`, the time for one record, is set
    only if a single task ran the whole batch.
    """

    runs: list[SegmentRun] = field(default_factory=list)
    sessions: dict[str, str] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)
    due_ms: list[int] = field(default_factory=list)
    state: WrittenState = field(default_factory=WrittenState)
    batch: BatchPlan | None = None
    record_us: float = 0.0


def write_part(plan: Plan, backend: TopicBackend, frames: Iterable[Frame], task: SinkTask) -> BatchPart:
    """Writes the output frames among those that a sink task received, and decodes the others for the commit."""
    received: defaultdict[int, list[Frame]] = defaultdict(list)
    for frame in frames:
        received[frame.stage].append(frame)
    metrics = Metrics()
    part = BatchPart()
    if received[TO_SINK]:
        part.runs, part.sessions = backend.write(plan, received[TO_SINK], metrics, task)
    part.counts = total([*_decode(received[METRICS], Counts), metrics.drain()])
    part.due_ms = [due for due in _decode(received[ALARM], int | None) if due is not None]
    for written in _decode(received[STATE], WrittenState):
        part.state.add(written)
    part.batch = next(iter(_decode(received[BATCH], BatchPlan)), None)
    return part


def commit(plan: Plan, backend: TopicBackend, view: LogView, batch: BatchPlan, parts: Sequence[BatchPart]) -> LogView:
    """Commits a batch (state, offsets, counters, next alarm, output to publish), then publishes the output.

    Raises:
        TakenOverError: if the application was started again or reset meanwhile; then nothing is committed.
    """
    now_ms, log = system_clock(), state_log(plan)
    state = WrittenState()
    for part in parts:
        state.add(part.state)
    swept = expired(view.state, now_ms, plan.retention_ms)
    if plan.sync_state:
        backend.sync()
    view = log.commit(
        view,
        Commit(
            batch=batch.batch,
            time_ms=now_ms,
            offsets={key: end for key, end in batch.ends.items() if view.state.offsets.get(key) != end},
            clock_ms=batch.clock_ms,
            heads=state.heads,
            objects=state.objects,
            freed=state.freed,
            swept=swept,
            counts=total(part.counts for part in parts),
            alarm_ms=min((due for part in parts for due in part.due_ms), default=None),
            output=backend.output([run for part in parts for run in part.runs]),
            sessions={task: session for part in parts for task, session in part.sessions.items()},
            spread=batch.spread,
            record_us=max(part.record_us for part in parts),
            records=_records(plan, view, batch),
            duration_ms=max(0, now_ms - batch.planned_ms) if batch.planned_ms else 0,
        ),
    )
    delete(log.files, swept)
    backend.publish(plan, view.state)
    return view


def _records(plan: Plan, view: LogView, batch: BatchPlan) -> int:
    """The number of input records of a batch, by their offsets: missing offsets count as records, too."""
    first = plan.first_offsets
    return sum(end - view.state.offsets.get(key, first.get(key, 0)) for key, end in batch.ends.items())


def _decode(frames: Sequence[Frame], kind: Any) -> list[Any]:
    return [msgspec.json.decode(frame.payload, type=kind) for frame in frames]
