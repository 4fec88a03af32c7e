"""Reads topics: plans batches on the driver, reads and ingests them on the workers."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from headrace._runtime.spark import frames, program
from headrace._runtime.spark.clock import AlarmFile
from headrace._runtime.spark.failures import reported
from headrace._runtime.spark.finish import FinishFile
from headrace._runtime.spark.frames import Frame, Tick
from headrace._runtime.spark.ingest import ingest, offsets_frame, tick_frames
from headrace._runtime.spark.plan import Plan
from headrace._runtime.spark.topic_home import TopicHome, home_of, offset_key
from headrace.topics.kafka_cluster import Place

_ROWS_PER_READ = 16
_CLOCK, _RUN = "$clock", "$run"  # no topic is called so

Offsets = dict[str, Any]


@dataclass
class Slice(InputPartition):
    """Offset ranges to be read by one Spark task, with what the planner knows of their data.

    `tick` is that of the batch, if it has a clock; one slice of the batch `ticks`, for all tasks.
    """

    ranges: list[tuple[Place, int, int, Any]]
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
        self._until: dict[str, int] | None = None
        self._begun = False

    def initialOffset(self) -> Offsets:  # noqa: N802
        timed = {_CLOCK: 0, _RUN: ""} if self._plan.clocked else {}
        return {**{offset_key(place): self._first(place) for place in self._plan.places}, **timed}

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
            plan = self._plan
            if FinishFile(plan.state_dir).asks(plan.run):
                return start
            ends = self._until or self._ends()
            now_ms = max(plan.clock(), start.get(_CLOCK, 0)) if plan.clocked else None
            if not isinstance(limit, ReadAllAvailable):
                assert isinstance(limit, ReadMaxRows)
                starts = [start.get(offset_key(place), self._first(place)) for place in plan.places]
                limits = [ends[offset_key(place)] for place in plan.places]
                chosen = self._home.admitted(plan, starts, limits, limit.max_rows, now_ms)
                ends = {offset_key(place): offset for place, offset in zip(plan.places, chosen, strict=True)}
            return {**ends} if now_ms is None else self._clocked(start, ends, now_ms)

    def _clocked(self, start: Offsets, ends: dict[str, int], now_ms: int) -> Offsets:
        """The offsets with clock and run, or `start` itself if there is neither a record nor a reason to tick."""
        first = self._plan.first_offsets
        if all(start.get(place, first.get(place, 0)) == offset for place, offset in ends.items()) and not self._ticks(
            now_ms
        ):
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
            for place in plan.places:
                key = offset_key(place)
                first: int = start.get(key, self._first(place))
                last: int = end.get(key, first)
                if first < last:
                    number = filled if plan.broker is None else _steady_number(place)
                    located = self._home.locate(place, first, last)
                    slices[number % len(slices)].ranges.append((place, first, last, located))
                    filled += 1
            # Without stages a slice is what a task of the sink writes and must be known by its number.
            steady = plan.broker is not None and not plan.chain
            return [one for one in slices if one.ranges or one.ticks or steady]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Slice)
        with reported():
            plan = program.load(self._packed)
            home, tick = home_of(plan), partition.tick
            if tick is not None and partition.ticks:
                yield frames.rows(list(tick_frames(plan, tick)))
            for place, first, last, located in partition.ranges:
                waiting: list[Frame] = [] if plan.broker is None else [offsets_frame({offset_key(place): last})]
                for frame in ingest(plan, *place, first, home.read(place, first, last, located), tick):
                    waiting.append(frame)
                    if len(waiting) >= _ROWS_PER_READ:
                        yield frames.rows(waiting)
                        waiting = []
                if waiting:
                    yield frames.rows(waiting)

    @property
    def _plan(self) -> Plan:
        return program.load(self._packed)

    @cached_property
    def _home(self) -> TopicHome:
        return home_of(self._plan)

    def _first(self, place: Place) -> int:
        return self._plan.first_offsets.get(offset_key(place), 0)

    def _ends(self) -> dict[str, int]:
        places = self._plan.places
        return {offset_key(place): end for place, end in zip(places, self._home.ends(places), strict=True)}


def _steady_number(place: Place) -> int:
    """Deals the partitions of a topic evenly, and the same when other topics come and go."""
    return zlib.crc32(place[0].encode()) + place[1]
