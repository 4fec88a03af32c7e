"""Which records the next micro-batch reads, when a batch without records is planned, when a batch is spread."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

import headrace as hr
from headrace._graph.configured import configured
from headrace._runtime.spark.planning.batch_planner import BatchPlanner, choose_spread, estimate_record_us
from headrace._runtime.spark.planning.plan import make_plan
from headrace._runtime.spark.session.session import cores_of, parallelism
from headrace._state.log.entries import ApplicationState, BatchPlan, Start
from headrace._state.log.state_log import LogView


class Timer(hr.Processor):
    def init(self, context):
        super().init(context)
        context.schedule(timedelta(seconds=1), hr.PunctuationType.WALL_CLOCK_TIME, print)

    def process(self, record):
        self.context.forward(record)


class Topics:
    """A backend whose topics have only offsets."""

    def __init__(self, *ends):
        self.end_offsets = list(ends)
        self.requests = []

    def refuse_changed_topics(self, plan):
        """Does nothing: the topics never change."""

    def ends(self, places):
        assert len(places) == len(self.end_offsets)
        return list(self.end_offsets)

    def admitted(self, plan, starts, ends, limit, now_ms):
        """Admits one partition after the other up to the limit."""
        self.requests.append((list(starts), list(ends), limit, now_ms))
        chosen = []
        for first, last in zip(starts, ends, strict=True):
            number = min(max(0, last - first), limit)
            limit -= number
            chosen.append(first + number)
        return chosen


def make(*, ticking=False, clock_ms=1000, fields=None, **config):
    """A plan that reads two partitions of the topic `in`."""
    builder = hr.StreamsBuilder()
    stream = builder.stream("in")
    (stream.process(Timer, name="timer") if ticking else stream).to("out")
    settings = hr.StreamsConfig(application_id="app", topics_dir="topics", state_dir="state", **config)
    graph = configured(builder.build()._graph, settings)
    plan = make_plan(graph, settings, {"in": 2}, instance="i", epoch=1, run="a run", clock=lambda: clock_ms)
    return replace(plan, **(fields or {}))


def view(first_batch=0, **state):
    start = Start("app", "i", first_batch=first_batch, time_ms=0)
    return LogView(number=1, digest=0, epoch=1, start=start, state=ApplicationState(**state))


def test_batch_reads_all_records_after_the_last_one():
    topics = Topics(5, 7)
    planner = BatchPlanner(make(), topics)
    assert planner.ends() == {"in-0": 5, "in-1": 7}
    assert planner.next(view()) == BatchPlan(0, {"in-0": 5, "in-1": 7}, None, "a run", spread=0)
    later = view(batch=8, offsets={"in-0": 2, "in-1": 7})
    assert planner.next(later) == BatchPlan(9, {"in-0": 5, "in-1": 7}, None, "a run", spread=0)
    assert topics.requests == [([0, 0], [5, 7], 1_000_000, None), ([2, 7], [5, 7], 1_000_000, None)]


def test_partition_that_was_never_read_begins_at_its_first_offset():
    plan = make(fields={"first_offsets": {"in-0": 3, "in-1": 4}})
    planner = BatchPlanner(plan, Topics(5, 7))
    assert planner.starts(view(offsets={"in-1": 6})) == [3, 6]


def test_batch_reads_at_most_max_records_per_batch():
    planner = BatchPlanner(make(max_records_per_batch=6), Topics(5, 7))
    assert planner.next(view()).ends == {"in-0": 5, "in-1": 1}


def test_without_records_there_is_no_batch():
    planner = BatchPlanner(make(), Topics(5, 7))
    assert planner.next(view(offsets={"in-0": 5, "in-1": 7})) is None


def test_catch_up_run_reads_up_to_the_ends_of_the_topics_at_its_start():
    planner = BatchPlanner(make(), Topics(50, 70))
    until = {"in-0": 5, "in-1": 7}
    assert planner.next(view(offsets={"in-0": 2}), until).ends == until
    assert planner.next(view(offsets=until), until) is None
    assert planner.next(view(offsets={"in-0": 9, "in-1": 6}), until).ends == {"in-0": 9, "in-1": 7}


def test_batch_that_was_planned_but_not_committed_comes_first_unchanged():
    plan = BatchPlan(3, {"in-0": 4}, 900, "an earlier run", spread=4, step=17)
    topics = Topics(50, 70)
    planner = BatchPlanner(make(ticking=True), topics)
    assert planner.next(view(batch=2, plan=plan), {"in-0": 2}) is plan
    assert topics.requests == []


def test_plan_has_a_clock_only_if_tasks_need_it_and_it_never_goes_back():
    assert BatchPlanner(make(), Topics(1, 0)).next(view()).clock_ms is None
    guarded = make(max_timestamp_ahead=timedelta(hours=1))
    assert BatchPlanner(guarded, Topics(1, 0)).next(view()).clock_ms == 1000
    ticking = make(ticking=True)
    assert BatchPlanner(ticking, Topics(1, 0)).next(view(clock_ms=999)).clock_ms == 1000
    assert BatchPlanner(ticking, Topics(1, 0)).next(view(clock_ms=2000)).clock_ms == 2000


def ticks(plan, until=None, **state):
    """Whether a batch is planned although there are no records."""
    planner = BatchPlanner(plan, Topics(0, 0))
    batch = planner.next(view(**state), until)
    if batch is not None:
        ends = {"in-0": 0, "in-1": 0}
        assert batch == BatchPlan(state["batch"] + 1, ends, max(1000, state.get("clock_ms", 0)), "a run", spread=0)
    return batch is not None


DONE = {"in-0": 0, "in-1": 0}


@pytest.mark.parametrize("until", [None, DONE])
def test_every_start_ticks_once_even_without_records(until):
    ticking = make(ticking=True)
    assert ticks(ticking, until, batch=-1)
    assert ticks(ticking, until, first_batch=5, batch=4)
    assert not ticks(ticking, until, first_batch=5, batch=5)


def test_due_alarm_ticks_while_the_application_keeps_running():
    ticking = make(ticking=True)
    assert ticks(ticking, batch=0, alarm_ms=1000)
    assert ticks(ticking, batch=0, alarm_ms=1500, clock_ms=1500)
    assert not ticks(ticking, batch=0, alarm_ms=1001)
    assert not ticks(ticking, batch=0)


def test_catch_up_run_does_not_wait_for_an_alarm():
    assert not ticks(make(ticking=True), DONE, batch=0, alarm_ms=1000)


def test_topology_without_wall_clock_work_does_not_tick():
    for plan in (make(), make(max_timestamp_ahead=timedelta(hours=1))):
        assert not ticks(plan, batch=-1)
        assert not ticks(plan, batch=0, alarm_ms=1)


SPREADABLE = {"spark_partitions": 4, "fuses": True}


def spreads(plan, *batches, **state):
    return [choose_spread(plan, ApplicationState(**state), records) for records in batches]


def test_trickle_is_run_by_one_task_and_a_backlog_is_spread():
    assert spreads(make(fields=SPREADABLE), 0, 1, 30_000, 30_001) == [0, 0, 0, 4]


def test_backlog_stays_spread_until_batches_are_small():
    assert spreads(make(fields=SPREADABLE), 30_000, 10_001, 10_000, 1, spread=4) == [4, 4, 0, 0]


def test_planner_considers_whether_the_last_batch_was_spread():
    topics, last, offset, found = Topics(0, 0), 0, 0, []
    for records in (20_000, 60_000, 20_000, 9_000, 20_000):
        topics.end_offsets = [offset + records, 0]
        batch = BatchPlanner(make(fields=SPREADABLE), topics).next(view(offsets={"in-0": offset}, spread=last))
        last, offset = batch.spread, batch.ends["in-0"]
        found.append(last)
    assert found == [0, 4, 4, 0, 0]


def test_slow_operators_are_spread_earlier_than_fast_ones():
    slow = quick = 0.0
    for _ in range(20):
        slow = estimate_record_us(ApplicationState(record_us=slow), 1000, 1.0)
        quick = estimate_record_us(ApplicationState(record_us=quick), 1000, 0.001)
    plan = make(fields=SPREADABLE)
    assert spreads(plan, 200, 400, record_us=slow) == [0, 4]
    assert spreads(plan, 200_000, 400_000, record_us=quick) == [0, 4]


def test_tiny_batches_give_no_estimate():
    assert [estimate_record_us(ApplicationState(record_us=7.0), records, 99.0) for records in (0, 99)] == [0.0, 0.0]


@pytest.mark.parametrize(("partitions", "fuses", "expected"), [(3, False, 3), (1, False, 1), (1, True, 0)])
@pytest.mark.parametrize("records", [0, 1, 10_000_000])
def test_configured_spark_partitions_do_not_depend_on_the_load(partitions, fuses, expected, records):
    plan = make(fields={"spark_partitions": partitions, "fuses": fuses})
    assert [choose_spread(plan, ApplicationState(spread=last), records) for last in (0, 4)] == [expected, expected]


class Session:
    """A Spark session with a master and some cores."""

    def __init__(self, master, cores=2):
        self.conf = {"spark.master": master}
        self.sparkContext = type("Context", (), {"defaultParallelism": cores})


@pytest.mark.parametrize(
    ("master", "cores", "wanted", "tasks", "expected"),
    [
        ("local[4]", 4, None, 8, (4, True)),
        ("local[4]", 4, None, 3, (3, True)),
        ("local[4]", 4, None, 0, (1, True)),
        ("local[4]", 4, 1, 8, (1, True)),
        ("local[4]", 4, 6, 8, (6, False)),
        ("spark://host:7077", 16, None, 8, (8, False)),
        ("spark://host:7077", 16, 1, 8, (1, True)),
        ("local-cluster[2,1,1024]", 2, None, 8, (8, False)),
    ],
)
def test_spark_partitions_follow_the_setting_or_cores_and_tasks(master, cores, wanted, tasks, expected):
    for before in (None, view()):
        assert parallelism(cores_of(Session(master, cores)), wanted, tasks, before) == expected


@pytest.mark.parametrize(
    ("spread", "wanted", "expected"),
    [(5, None, (5, True)), (5, 2, (5, False)), (0, 2, (2, True)), (0, None, (4, True)), (5, 1, (5, True))],
)
def test_unfinished_batch_is_repeated_on_as_many_spark_partitions_as_before(spread, wanted, expected):
    before = view(plan=BatchPlan(0, {}, spread=spread))
    partitions, fuses = parallelism(4, wanted, 8, before)
    assert (partitions, fuses) == expected


def test_a_clock_that_was_far_ahead_once_is_corrected_at_once_and_logged(caplog):
    planner, done = BatchPlanner(make(ticking=True), Topics(0, 0)), {"batch": 3, "alarm_ms": 3_601_000}
    assert planner.next(view(clock_ms=11_000, **done)) is None
    assert caplog.text == ""
    batch = planner.next(view(clock_ms=3_601_000, **done))
    assert batch == BatchPlan(4, {"in-0": 0, "in-1": 0}, 1000, "a run", spread=0)
    assert "The wall clock is 3600 s behind that of the last batch" in caplog.text
