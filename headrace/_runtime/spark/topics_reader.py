"""Reads embedded topics: plans batches on the driver, reads and ingests them on the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from headrace._runtime.spark import frames, program
from headrace._runtime.spark.admission import admitted
from headrace._runtime.spark.clock import AlarmFile
from headrace._runtime.spark.failures import reported
from headrace._runtime.spark.frames import Frame, Tick
from headrace._runtime.spark.ingest import ingest, tick_frames
from headrace._runtime.spark.plan import Plan
from headrace.topics.log import Extent, TopicLog

_ROWS_PER_READ = 16
_CLOCK, _RUN = "$clock", "$run"  # no topic is called so

Offsets = dict[str, Any]


@dataclass
class Slice(InputPartition):
    """Offset ranges to be read by one Spark task, with the places of their data.

    `tick` is that of the batch, if it has a clock; one slice of the batch `ticks`, for all tasks.
    """

    ranges: list[tuple[str, int, int, int, list[Extent]]]
    tick: Tick | None
    ticks: bool

    def __init__(self, tick: Tick | None, *, ticks: bool) -> None:
        super().__init__(None)
        self.ranges = []
        self.tick = tick
        self.ticks = ticks


class TopicsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches on the driver and reads them on the workers. Offsets: `{"topic-partition": next offset}`.

    Where the wall clock matters, offsets also hold the clock of the batch and the run it belongs to: Spark logs them
    before the batch runs, so one that is repeated sees the same. Where it has something to fire, a batch without
    records is planned once as a query starts, and while it runs on whenever something is due.
    """

    def __init__(self, packed: bytes, max_records: int) -> None:
        self._packed = packed
        self._max_records = max_records
        self._log: TopicLog | None = None
        self._until: dict[str, int] | None = None
        self._begun = False

    def initialOffset(self) -> Offsets:  # noqa: N802
        timed = {_CLOCK: 0, _RUN: ""} if self._plan.clocked else {}
        return {**{_key(topic, partition): 0 for topic, partition in self._plan.places}, **timed}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._max_records)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with reported():
            self._until = self._ends()

    def reportLatestOffset(self) -> Offsets:  # noqa: N802
        with reported():
            return {**self._ends()}

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        with reported():
            ends, plan = self._until or self._ends(), self._plan
            now_ms = max(plan.clock(), start.get(_CLOCK, 0)) if plan.clocked else None
            if not isinstance(limit, ReadAllAvailable):
                assert isinstance(limit, ReadMaxRows)
                places = plan.places
                starts = [start.get(_key(*place), 0) for place in places]
                limits = [ends[_key(*place)] for place in places]
                chosen = admitted(
                    self._topic_log,
                    places,
                    starts,
                    limits,
                    limit.max_rows,
                    lambda topic: plan.latest_ms(topic, now_ms),
                    plan.global_topics,
                )
                ends = {_key(*place): offset for place, offset in zip(places, chosen, strict=True)}
            return {**ends} if now_ms is None else self._clocked(start, ends, now_ms)

    def _clocked(self, start: Offsets, ends: dict[str, int], now_ms: int) -> Offsets:
        """The offsets with clock and run, or `start` itself if there is neither a record nor a reason to tick."""
        if all(start.get(place, 0) == offset for place, offset in ends.items()) and not self._ticks(now_ms):
            return start
        self._begun = True
        return {**ends, _CLOCK: now_ms, _RUN: self._plan.run}

    def _ticks(self, now_ms: int) -> bool:
        """Whether a batch is needed even without records."""
        if not self._plan.timed:
            return False
        return not self._begun or (self._until is None and AlarmFile(self._plan.state_dir).rings(now_ms))

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        with reported():
            plan, tick = self._plan, None
            if plan.clocked:
                # Only a batch that was planned before the settings asked for a clock has none.
                tick = Tick(end[_CLOCK] if _CLOCK in end else plan.clock(), end.get(_RUN, ""))
            slices = [Slice(tick, ticks=plan.timed and not number) for number in range(plan.spark_partitions)]
            filled = 0
            for topic, partition in plan.places:
                first, last = start.get(_key(topic, partition), 0), end.get(_key(topic, partition), 0)
                if first < last:
                    extents = self._topic_log.extents(topic, partition, first, last)
                    slices[filled % len(slices)].ranges.append((topic, partition, first, last, extents))
                    filled += 1
            return [one for one in slices if one.ranges or one.ticks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Slice)
        with reported():
            plan = program.load(self._packed)
            log = TopicLog(plan.topics_dir)
            tick = partition.tick
            if tick is not None and partition.ticks:
                yield frames.rows(list(tick_frames(plan, tick)))
            for topic, number, first, last, extents in partition.ranges:
                waiting: list[Frame] = []
                for frame in ingest(plan, topic, number, first, log.read_extents(extents, first, last), tick):
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
