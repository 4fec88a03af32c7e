"""The one sink of a query: takes frames apart, has the records written, and keeps what was counted on the way.

Into embedded topics workers write data files, and the driver makes those of a batch visible at once, and once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from headrace._core.metrics import Counts, Metrics, total
from headrace._runtime.spark import frames, program
from headrace._runtime.spark.clock import AlarmFile
from headrace._runtime.spark.counters import CounterFile
from headrace._runtime.spark.failures import reported
from headrace._runtime.spark.frames import ALARM, METRICS, OFFSETS, TO_SINK, Frame
from headrace._runtime.spark.manifest import refuse_fenced
from headrace._runtime.spark.plan import Plan
from headrace.topics.log import Run, SegmentWriter, TopicLog


@dataclass
class Written(WriterCommitMessage):
    """What one Spark task wrote, and what was counted on the way."""

    runs: list[Run] = field(default_factory=list)
    counts: Counts = field(default_factory=dict)
    due_ms: list[int] = field(default_factory=list)
    offsets: dict[str, int] = field(default_factory=dict)


class RoutingWriter(DataSourceStreamArrowWriter):
    """Writes all output topics of a query."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with reported():
            plan = program.load(self._packed)
            received: defaultdict[int, list[Frame]] = defaultdict(list)
            for batch in iterator:
                for frame in map(Frame._make, zip(*(column.to_pylist() for column in batch.columns), strict=True)):
                    received[frame.stage].append(frame)
            parts: list[Counts] = _told(received[METRICS])
            due_ms: list[int | None] = _told(received[ALARM])
            offsets: list[dict[str, int]] = _told(received[OFFSETS])
            metrics = Metrics()
            return Written(
                self.put(plan, received[TO_SINK], metrics),
                total([*parts, metrics.drain()]),
                [due for due in due_ms if due is not None],
                {place: offset for told in offsets for place, offset in told.items()},
            )

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        with reported():
            plan = program.load(self._packed)
            written = [message for message in messages if isinstance(message, Written)]
            refuse_fenced(plan.state_dir, plan.instance, plan.epoch)
            self.publish(plan, written, batchId)
            CounterFile(plan.state_dir).add(batchId, total(message.counts for message in written))
            if plan.timed:
                AlarmFile(plan.state_dir).set(min((due for message in written for due in message.due_ms), default=None))

    @abstractmethod
    def put(self, plan: Plan, outputs: list[Frame], metrics: Metrics) -> list[Run]:
        """On a worker: writes the records that one Spark task has of a batch; returns what is still to be committed."""

    @abstractmethod
    def publish(self, plan: Plan, written: list[Written], batch: int) -> None:
        """On the driver, when all tasks have written: completes the batch."""


class EmbeddedWriter(RoutingWriter):
    """Writes embedded topics; a batch becomes visible at once, and once."""

    def put(self, plan: Plan, outputs: list[Frame], metrics: Metrics) -> list[Run]:  # noqa: ARG002
        return write_runs(plan, outputs)

    def publish(self, plan: Plan, written: list[Written], batch: int) -> None:
        runs = [run for message in written for run in message.runs]
        create = {topic: plan.partitions[topic] for topic in plan.sink_topics}
        _log_of(plan.topics_dir).commit(runs, producer=plan.instance, batch=batch, create=create)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        with reported():
            runs = [run for message in messages if isinstance(message, Written) for run in message.runs]
            TopicLog(program.load(self._packed).topics_dir).discard(runs)


def _told(told: list[Frame]) -> list[Any]:
    return [msgspec.json.decode(frame.payload) for frame in told]


@cache
def _log_of(directory: str) -> TopicLog:
    """Kept between batches: reading on from the last commit costs next to nothing."""
    return TopicLog(directory)


def write_runs(plan: Plan, outputs: list[Frame]) -> list[Run]:
    """One run per topic, partition and task that wrote it; a data file holds one run per partition."""
    log = TopicLog(plan.topics_dir)
    writers: list[SegmentWriter] = []
    makers: dict[tuple[int, int], dict[tuple[int, int], SegmentWriter]] = {}
    for frame in sorted(outputs, key=lambda frame: (frame.channel, frame.target, frame.hop, frame.origin, frame.seq)):
        assigned = makers.setdefault((frame.channel, frame.target), {})
        maker = (frame.hop, frame.origin)
        if maker not in assigned:
            if len(assigned) == len(writers):
                writers.append(log.writer())
            assigned[maker] = writers[len(assigned)]
        records = frames.decode(frame.payload)
        topic = plan.topics[frame.channel]
        assigned[maker].write(topic, frame.target, frames.with_log_order(records, frame.hop, frame.origin, frame.seq))
    return [run for writer in writers for run in writer.finish()]
