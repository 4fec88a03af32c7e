"""Reads embedded topics: plans batches on the driver, reads and ingests them on the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from headrace._runtime.spark import frames, program
from headrace._runtime.spark.admission import admitted
from headrace._runtime.spark.failures import reported
from headrace._runtime.spark.frames import Frame
from headrace._runtime.spark.ingest import ingest
from headrace._runtime.spark.plan import Plan
from headrace.topics.log import Extent, TopicLog

_ROWS_PER_READ = 16


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


def _key(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"
