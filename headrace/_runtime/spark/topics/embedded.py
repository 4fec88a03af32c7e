"""The backend for embedded topics.

Workers write data files, the commit of a batch names them, and then one entry of the topic log makes all of them
visible at once. That entry names the batch, so publishing it again has no effect.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from headrace._core.metrics import Metrics
from headrace._runtime.spark.planning.admission import admitted, by_timestamps
from headrace._runtime.spark.planning.plan import Plan, offset_key
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.frames import Frame
from headrace._runtime.spark.topics.backend import SinkTask, refuse_changed_outputs, refuse_missing_records
from headrace._state.log.entries import ApplicationState
from headrace._state.log.state_log import LogView
from headrace.errors import StateError, TopicError
from headrace.model.offset_reset import AutoOffsetReset
from headrace.topics.embedded.log import Extent, SegmentRun, SegmentWriter, TopicLog
from headrace.topics.kafka.cluster import Place

_ABANDONED_AFTER_S = 24 * 3600  # data files of writers that were killed; no batch takes that long
_CHECK_EVERY_S = 0.005
_IF_RECORDS_ARE_MISSING = "Was the topics directory replaced? Put the right one back, or start over"
_logger = logging.getLogger(__name__)


class EmbeddedBackend:
    """The backend for topics in a directory.

    Callers must not assume that a partition begins at offset 0, because retention deletes the first records. Nor may
    they assume that the offsets of records are consecutive, because compaction leaves gaps.
    """

    has_fixed_slices = False

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._log = TopicLog(directory)
        self._checked_topics = -1
        self._opened: dict[str, int] = {}

    def topics(self) -> Mapping[str, int]:
        return self._log.topics()

    def reset_offsets(self, places: Sequence[Place], reset: AutoOffsetReset, now_ms: int) -> list[int]:
        self._log.refresh()
        topics = {topic for topic, _ in places}
        begins = {topic: self._log.begin_offsets(topic) for topic in topics}
        ends = {topic: self._log.end_offsets(topic) for topic in topics}
        ranges = [(place, begins[place[0]][place[1]], ends[place[0]][place[1]]) for place in places]
        if reset.strategy == "by_duration":
            since_ms = now_ms - reset.duration_ms
            return [self._first_since(place, begin, end, since_ms) for place, begin, end in ranges]
        return [end if reset.strategy == "latest" else begin for _, begin, end in ranges]

    def _first_since(self, place: Place, begin: int, end: int, since_ms: int) -> int:
        """The offset of the first record with timestamp `since_ms` or a later one; `end` if there is none."""
        found = np.flatnonzero(self._log.timestamps(*place, begin, end) >= since_ms)
        return begin + int(found[0]) if found.size else end

    def refuse_changed_topics(self, plan: Plan) -> None:
        """Looks only if topics were created since the last call; embedded topics never change or disappear."""
        if not plan.patterns:
            return
        self._log.refresh()
        topics = self._log.topics()
        if len(topics) != self._checked_topics:
            plan.refuse_other_topics(topics)
            self._checked_topics = len(topics)

    def prepare(self, plan: Plan, state: ApplicationState) -> None:
        """Creates missing output topics, so that nobody creates one with another number of partitions meanwhile."""
        self._log.refresh()
        refuse_changed_outputs(plan, self.topics())
        self._log.commit((), create={topic: plan.partitions[topic] for topic in plan.sink_topics})
        self.publish(plan, state)
        self._log.upkeep.sweep_producer(plan.instance, plan.epoch)
        self._log.upkeep.sweep(_ABANDONED_AFTER_S)

    def settle(self, plan: Plan) -> None:
        """Has nothing to wait for: published output is visible at once."""

    def traces(self, application_id: str, instance: str | None) -> Sequence[str]:  # noqa: ARG002
        """Returns nothing: what a reset deletes here, unpublished data files, no user has ever seen.

        The topic log has commits of the application. They name its instance, and after a reset the instance is a new
        one, so the application does not mistake old commits for its own.
        """
        return ()

    def forget(self, application_id: str, instance: str | None) -> None:
        """Does nothing: only `delete_unpublished` has something to delete."""

    def delete_unpublished(self, application_id: str, instance: str) -> None:
        """Deletes data files that no commit in the topic log names. If the log is damaged, it only logs a warning."""
        try:
            self._log.upkeep.sweep_producer(instance)
        except TopicError as error:
            _logger.warning(
                "Cannot delete the unpublished data files of application %r. The files '%s-*.arrow' in %r stay. They "
                "only take space. %s",
                application_id,
                instance,
                str(self._log.segments),
                error,
            )

    def ends(self, places: Sequence[Place]) -> list[int]:
        self._log.refresh()
        return [self._log.end_offsets(topic)[partition] for topic, partition in places]

    def admitted(
        self, plan: Plan, starts: Sequence[int], ends: Sequence[int], limit: int, now_ms: int | None
    ) -> list[int]:
        if any(end < start for start, end in zip(starts, ends, strict=True)):
            refuse_missing_records(plan, starts, self.ends(plan.places), _IF_RECORDS_ARE_MISSING)
        take = by_timestamps(self._log, plan.places, lambda topic: plan.latest_ms(topic, now_ms))
        return admitted(plan.places, starts, ends, limit, take, plan.global_topics)

    def locate(self, place: Place, first: int, last: int) -> list[Extent]:
        return self._log.extents(*place, first, last)

    def read(self, place: Place, first: int, last: int, located: list[Extent]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        return self._log.read_extents(located, first, last)

    def newest(self, places: Sequence[Place], limit: int) -> Iterator[tuple[Place, pa.RecordBatch]]:
        for topic, partition in places:
            begin, end = self._log.begin_offsets(topic)[partition], self._log.end_offsets(topic)[partition]
            for batch in self._log.read(topic, partition, max(begin, end - limit), end):
                yield (topic, partition), batch

    def open_topic(self, plan: Plan, topic: str, partitions: int | None) -> int | None:  # noqa: ARG002
        existing = self._opened.get(topic)
        if existing is None:
            self._log.refresh()
            existing = self._log.topics().get(topic)
            if existing is None and partitions is not None:
                existing = self._log.ensure(topic, partitions)
            if existing is not None:
                self._opened[topic] = existing
        return existing

    def await_records(self, plan: Plan, starts: Sequence[int], within_s: float) -> None:  # noqa: ARG002
        until_s = time.monotonic() + within_s
        while not self._log.has_grown() and time.monotonic() < until_s:
            time.sleep(min(_CHECK_EVERY_S, within_s))

    def write(
        self,
        plan: Plan,
        outputs: list[Frame],
        metrics: Metrics,  # noqa: ARG002
        task: SinkTask,  # noqa: ARG002
    ) -> tuple[list[SegmentRun], dict[str, str]]:
        return self._write_runs(plan, outputs), {}

    def output(self, runs: list[SegmentRun]) -> Any:
        return msgspec.to_builtins(runs)

    def sync(self) -> None:
        # Another process may have read what this one commits: reads it first.
        self._log.refresh()
        self._log.sync()

    def publish(self, plan: Plan, state: ApplicationState) -> None:
        if state.batch < 0 or self._log.last_batch(plan.instance) == state.batch:
            return
        runs = msgspec.convert(state.output or [], list[SegmentRun])
        self._log.commit(runs, producer=plan.instance, batch=state.batch)

    def refuse_other_age(self, plan: Plan, view: LogView) -> None:
        self._log.refresh()
        published, committed = self._log.last_batch(plan.instance), view.state.batch
        published = -1 if published is None else published
        if committed - 1 <= published <= committed:
            offsets = view.next_offsets
            starts = [offsets.get(offset_key(place), 0) for place in plan.places]
            refuse_missing_records(plan, starts, self.ends(plan.places), _IF_RECORDS_ARE_MISSING)
            return
        older, newer = (
            ("state directory", "topics") if published > committed else ("topics directory", "state directory")
        )
        message = (
            f"The state of application {plan.application_id!r} in {plan.state_dir!r} has batches up to {committed}, "
            f"but the topics in {plan.topics_dir!r} have its output up to batch {published}. The {older} is older than "
            f"the {newer}: was it restored from a copy? Restore both from the same time, or start over: use another "
            "application_id and state_dir, or run `headrace reset`."
        )
        raise StateError(message)

    def _write_runs(self, plan: Plan, outputs: list[Frame]) -> list[SegmentRun]:
        """Writes the records of each topic-partition; the records of each task are a `SegmentRun` of their own.

        A data file holds only one such run of a partition. So the number of data files is the largest number of tasks
        that wrote to the same partition.
        """
        writers: list[SegmentWriter] = []
        writers_by_partition: dict[tuple[str, int], dict[tuple[int, int], SegmentWriter]] = {}
        named = [(frames.topic_of(frame, plan.topics), frame) for frame in outputs]
        with ExitStack() as open_writers:
            for topic, frame in sorted(named, key=_by_partition_then_task):
                assigned = writers_by_partition.setdefault((topic, frame.target), {})
                task = (frame.hop, frame.origin)
                if task not in assigned:
                    if len(assigned) == len(writers):
                        writers.append(open_writers.enter_context(self._log.writer(plan.instance, plan.epoch)))
                    assigned[task] = writers[len(assigned)]
                records = frames.with_log_order(frames.decode(frame.payload), frame.hop, frame.origin, frame.seq)
                assigned[task].write(topic, frame.target, records)
            return [run for writer in writers for run in writer.finish()]


def _by_partition_then_task(named: tuple[str, Frame]) -> tuple[str, int, int, int, int]:
    topic, frame = named
    return topic, frame.target, frame.hop, frame.origin, frame.seq
