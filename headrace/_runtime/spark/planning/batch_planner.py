"""Decides what the next micro-batch reads, and how many Spark partitions run it."""

from __future__ import annotations

from headrace._runtime.spark.planning.plan import Plan, offset_key
from headrace._runtime.spark.topics.backend import TopicBackend
from headrace._state.log.entries import ApplicationState, BatchPlan
from headrace._state.log.state_log import LogView

# A batch that one task needs longer for is spread over all Spark partitions; one that is much shorter no longer is.
_SPREAD_FROM_S = 0.3
_FUSE_BELOW_S = 0.1
# Before anything was measured: what operators in Python usually need.
_RECORD_US = 10.0
_ENOUGH_RECORDS = 100


def spread(plan: Plan, state: ApplicationState, records: int) -> int:
    """The number of Spark partitions for a batch of so many records; 0: one task runs all of it.

    Spreading costs a shuffle for each stage and a job of Spark for each batch. It pays if one task would need long.
    """
    if not plan.fuses:
        return plan.spark_partitions
    if plan.spark_partitions == 1:
        return 0
    limit_s = _FUSE_BELOW_S if state.spread else _SPREAD_FROM_S
    return plan.spark_partitions if records * (state.record_us or _RECORD_US) > limit_s * 1e6 else 0


def measured_us(state: ApplicationState, records: int, took_s: float) -> float:
    """How long one task needs for a record, after it has run a batch; 0 if the batch was too small to tell."""
    if records < _ENOUGH_RECORDS:
        return 0.0
    return ((state.record_us or _RECORD_US) + took_s * 1e6 / records) / 2


class BatchPlanner:
    """Plans one batch after the other, from where the state log says that the last one ended."""

    def __init__(self, plan: Plan, backend: TopicBackend) -> None:
        self._plan = plan
        self._backend = backend

    def ends(self) -> dict[str, int]:
        """Where the input topics end now."""
        places = self._plan.places
        return {offset_key(place): end for place, end in zip(places, self._backend.ends(places), strict=True)}

    def next(self, view: LogView, until: dict[str, int] | None = None) -> BatchPlan | None:
        """The next batch; `None` if there is neither a record nor anything due by the wall clock.

        A batch that was planned before and not committed comes first, as it was planned. `until` bounds what is read,
        for a run that ends there; such a run waits for no clock.
        """
        if view.unfinished is not None:
            return view.unfinished
        plan, state = self._plan, view.state
        ends = until or self.ends()
        keys = [offset_key(place) for place in plan.places]
        now_ms = max(plan.clock(), state.clock_ms or 0) if plan.clocked else None
        starts = self.starts(view)
        limits = [max(start, ends.get(key, start)) for key, start in zip(keys, starts, strict=True)]
        chosen = self._backend.admitted(plan, starts, limits, plan.max_records, now_ms)
        records = sum(chosen) - sum(starts)
        if not records and not self._ticks(view, now_ms, runs_on=until is None):
            return None
        ends = dict(zip(keys, chosen, strict=True))
        return BatchPlan(state.batch + 1, ends, now_ms, plan.run, spread(plan, state, records))

    def starts(self, view: LogView) -> list[int]:
        """Where the next batch begins in each topic-partition."""
        offsets, first = view.state.offsets, self._plan.first_offsets
        keys = map(offset_key, self._plan.places)
        return [offsets[key] if key in offsets else first.get(key, 0) for key in keys]

    def _ticks(self, view: LogView, now_ms: int | None, *, runs_on: bool) -> bool:
        """Whether a batch is needed even without records: once as a query starts, and when the clock asks for it."""
        if not self._plan.timed or now_ms is None:
            return False
        if view.state.batch < view.start.first_batch:
            return True
        alarm_ms = view.state.alarm_ms
        return runs_on and alarm_ms is not None and alarm_ms <= now_ms
