"""Decides what the next micro-batch reads, and how many Spark partitions run it."""

from __future__ import annotations

import logging

from headrace._runtime.spark.planning.plan import Plan, offset_key
from headrace._runtime.spark.topics.backend import TopicBackend
from headrace._state.log.entries import ApplicationState, BatchPlan
from headrace._state.log.state_log import LogView

# A batch is spread over all Spark partitions if one task would need longer than the first limit. Later batches stay
# spread until one task would need less than the second, so that small changes of the load do not switch back and forth.
_SPREAD_FROM_S = 0.3
_FUSE_BELOW_S = 0.1
# Before anything is measured: the time that operators in Python usually need for a record.
_RECORD_US = 10.0
_MEASURABLE_RECORDS = 100
# If the wall clock is behind the last batch by at most this, batches keep the time of the last batch: the clocks of two
# machines may differ that much. A larger step back is followed.
_CLOCK_TOLERANCE_MS = 10_000

_log = logging.getLogger(__name__)


def choose_spread(plan: Plan, state: ApplicationState, records: int) -> int:
    """The number of Spark partitions for a batch with that many records; 0 means that one task runs the whole batch.

    Spreading a batch costs a Spark job and a shuffle for each stage. It pays off if one task would need long.
    """
    if not plan.fuses:
        return plan.spark_partitions
    if plan.spark_partitions == 1:
        return 0
    limit_s = _FUSE_BELOW_S if state.spread else _SPREAD_FROM_S
    return plan.spark_partitions if records * (state.record_us or _RECORD_US) > limit_s * 1e6 else 0


def estimate_record_us(state: ApplicationState, records: int, duration_s: float) -> float:
    """Estimates how many microseconds one Spark task needs for a record, from a batch that one task has run alone.

    The planner needs it to decide whether to spread a batch. The batch had `records` records and took `duration_s`. The
    result is the mean of this measurement and the last estimate, which is in `state`, so that a single slow batch
    changes little. A batch that is too small to measure gives 0: the committed state then keeps the last estimate.
    """
    if records < _MEASURABLE_RECORDS:
        return 0.0
    return ((state.record_us or _RECORD_US) + duration_s * 1e6 / records) / 2


class BatchPlanner:
    """Plans one batch after the other, each from the offsets at which the last committed batch ended."""

    def __init__(self, plan: Plan, backend: TopicBackend) -> None:
        self._plan = plan
        self._backend = backend

    def ends(self) -> dict[str, int]:
        """The current end offsets of the input topics.

        Raises:
            NewPartitionsError: if the topics or partitions to read have changed, so that a new plan is needed.
        """
        self._backend.refuse_changed_topics(self._plan)
        places = self._plan.places
        return {offset_key(place): end for place, end in zip(places, self._backend.ends(places), strict=True)}

    def next(self, view: LogView, until: dict[str, int] | None = None) -> BatchPlan | None:
        """Plans the next batch; `None` if there are no new records and nothing is due on the wall clock.

        A batch that was planned but not committed comes first, unchanged. `until` are the end offsets of a catch-up
        run, which reads no further and does not wait for the wall clock.
        """
        if view.unfinished is not None:
            return view.unfinished
        plan, state = self._plan, view.state
        ends = self.ends() if until is None else until
        keys = [offset_key(place) for place in plan.places]
        now_ms = self._now_ms(state) if plan.needs_clock else None
        starts = self.starts(view)
        limits = [ends.get(key, start) for key, start in zip(keys, starts, strict=True)]
        chosen = self._backend.admitted(plan, starts, limits, plan.max_records, now_ms)
        records = sum(chosen) - sum(starts)
        if not records and not self._needs_tick(view, now_ms, keeps_running=until is None):
            return None
        ends = dict(zip(keys, chosen, strict=True))
        return BatchPlan(state.batch + 1, ends, now_ms, plan.run, choose_spread(plan, state, records))

    def _now_ms(self, state: ApplicationState) -> int:
        """The time of the next batch: the wall clock, or the time of the last batch if the clock is a little behind."""
        clock_ms, last_ms = self._plan.clock(), state.clock_ms or 0
        if last_ms - clock_ms <= _CLOCK_TOLERANCE_MS:
            return max(clock_ms, last_ms)
        _log.warning(
            "The wall clock is %d s behind that of the last batch: it was ahead then, or is wrong now. "
            "Headrace follows it.",
            (last_ms - clock_ms) // 1000,
        )
        return clock_ms

    def starts(self, view: LogView) -> list[int]:
        """The offset at which the next batch begins in each topic-partition, in the order of `plan.places`."""
        offsets, first = view.state.offsets, self._plan.first_offsets
        keys = map(offset_key, self._plan.places)
        return [offsets[key] if key in offsets else first.get(key, 0) for key in keys]

    def _needs_tick(self, view: LogView, now_ms: int | None, *, keeps_running: bool) -> bool:
        """Whether a batch without records is needed, because tasks act on the wall clock.

        The first batch after a start is needed. After it, a catch-up run needs none; a run that waits for new records
        (`keeps_running`) needs one when an alarm is due, or when the clock has gone back behind the last batch.
        """
        if not self._plan.needs_ticks or now_ms is None:
            return False
        if view.state.batch < view.start.first_batch:
            return True
        alarm_ms, last_ms = view.state.alarm_ms, view.state.clock_ms
        if keeps_running and last_ms is not None and now_ms < last_ms:
            return True  # the clock went back, so the alarm is too late
        return keeps_running and alarm_ms is not None and alarm_ms <= now_ms
