"""Embedded topics as a Spark source and sink. Ingesting happens while reading: no extra hop through Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from headrace._core.metrics import Counts, total
from headrace._runtime.spark import frames, program
from headrace._runtime.spark.admission import admitted
from headrace._runtime.spark.counters import CounterFile
from headrace._runtime.spark.failures import reported
from headrace._runtime.spark.frames import METRICS, Frame
from headrace._runtime.spark.ingest import ingest
from headrace._runtime.spark.manifest import refuse_fenced
from headrace._runtime.spark.plan import Plan
from headrace.topics.log import Extent, Run, SegmentWriter, TopicLog

_ROWS_PER_READ = 16


def data_source(name: str, packed: bytes, max_records: int) -> type[DataSource]:
    """A data source class of its own for one query; Spark pickles it with the program inside."""

    class Topics(_Topics):
        source_name = name
        program = packed
        max_records_per_batch = max_records

    return Topics


class _Topics(DataSource):
    source_name: str
    program: bytes
    max_records_per_batch: int

    @classmethod
    def name(cls) -> str:
        return cls.source_name

    def schema(self) -> str:
        return frames.DDL

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        return TopicsReader(self.program, self.max_records_per_batch)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: ARG002, N802
        return TopicsWriter(self.program)


@dataclass
class Slice(InputPartition):
    """Offset ranges to be read by one Spark task, with the places of their data."""

    ranges: list[tuple[str, int, int, int, list[Extent]]]

    def __init__(self, ranges: list[tuple[str, int, int, int, list[Extent]]]) -> None:
        super().__init__(None)
        self.ranges = ranges


class TopicsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches on the driver and reads them on the workers. Offsets: `{"topic-partition": next offset}`."""

    def __init__(self, packed: bytes, max_records: int) -> None:
        self._packed = packed
        self._max_records = max_records
        self._log: TopicLog | None = None
        self._until: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {_key(topic, partition): 0 for topic, partition in self._plan.places}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._max_records)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with reported():
            self._until = self._ends()

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        with reported():
            return self._ends()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        with reported():
            ends = self._until or self._ends()
            if isinstance(limit, ReadAllAvailable):
                return ends
            assert isinstance(limit, ReadMaxRows)
            places = self._plan.places
            starts = [start.get(_key(*place), 0) for place in places]
            limits = [ends[_key(*place)] for place in places]
            chosen = admitted(self._topic_log, places, starts, limits, limit.max_rows)
            return {_key(*place): offset for place, offset in zip(places, chosen, strict=True)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        with reported():
            slices: list[Slice] = [Slice([]) for _ in range(self._plan.spark_partitions)]
            filled = 0
            for topic, partition in self._plan.places:
                first, last = start.get(_key(topic, partition), 0), end.get(_key(topic, partition), 0)
                if first < last:
                    extents = self._topic_log.extents(topic, partition, first, last)
                    slices[filled % len(slices)].ranges.append((topic, partition, first, last, extents))
                    filled += 1
            return [one for one in slices if one.ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Slice)
        with reported():
            plan = program.load(self._packed)
            log = TopicLog(plan.topics_dir)
            for topic, number, first, last, extents in partition.ranges:
                waiting: list[Frame] = []
                for frame in ingest(plan, topic, number, first, log.read_extents(extents, first, last)):
                    waiting.append(frame)
                    if len(waiting) >= _ROWS_PER_READ:
                        yield frames.rows(waiting)
                        waiting = []
                if waiting:
                    yield frames.rows(waiting)

    @property
    def _plan(self) -> Plan:
        return program.load(self._packed)

    @property
    def _topic_log(self) -> TopicLog:
        if self._log is None:
            self._log = TopicLog(self._plan.topics_dir)
        return self._log

    def _ends(self) -> dict[str, int]:
        self._topic_log.refresh()
        return {
            _key(topic, partition): end
            for topic in self._plan.source_topics
            for partition, end in enumerate(self._topic_log.end_offsets(topic))
        }


@dataclass
class Written(WriterCommitMessage):
    """What one Spark task wrote, and what was counted on the way."""

    runs: list[Run] = field(default_factory=list)
    counts: Counts = field(default_factory=dict)


class TopicsWriter(DataSourceStreamArrowWriter):
    """Writes all output topics of a query; a batch becomes visible at once, and once."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with reported():
            plan = program.load(self._packed)
            parts: list[Counts] = []
            outputs: list[Frame] = []
            for batch in iterator:
                for frame in map(Frame._make, zip(*(column.to_pylist() for column in batch.columns), strict=True)):
                    if frame.stage == METRICS:
                        parts.append(msgspec.json.decode(frame.payload))
                    else:
                        outputs.append(frame)
            return Written(_write_runs(plan, outputs), total(parts))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        with reported():
            plan = program.load(self._packed)
            written = [message for message in messages if isinstance(message, Written)]
            runs = [run for message in written for run in message.runs]
            refuse_fenced(plan.state_dir, plan.epoch)
            create = {topic: plan.partitions[topic] for topic in plan.sink_topics}
            _log_of(plan.topics_dir).commit(runs, producer=plan.instance, batch=batchId, create=create)
            CounterFile(plan.state_dir).add(batchId, total(message.counts for message in written))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        with reported():
            runs = [run for message in messages if isinstance(message, Written) for run in message.runs]
            TopicLog(program.load(self._packed).topics_dir).discard(runs)


@cache
def _log_of(directory: str) -> TopicLog:
    """Kept between batches: reading on from the last commit costs next to nothing."""
    return TopicLog(directory)


def _write_runs(plan: Plan, outputs: list[Frame]) -> list[Run]:
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


def _key(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"
