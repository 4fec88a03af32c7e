"""Rounds of fused micro-batches, and the reader that makes Spark run them, tested without Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

import headrace as hr
from headrace import Record, serdes
from headrace._graph.configured import configured
from headrace._runtime.spark.stages import fused
from headrace._runtime.spark.stages.fused import FusedRound
from headrace._runtime.spark.starting import log_of, start
from headrace._runtime.spark.state_directory.log import current_view
from headrace._runtime.spark.state_directory.requests import FinishFile
from headrace._runtime.spark.topics.backend import backend_of
from headrace._runtime.spark.topics.reader import TopicsReader
from headrace._runtime.spark.workers import program
from headrace._state.log.state_log import TakenOverError

COUNTS = [("a", 1, 10), ("b", 1, 11), ("a", 2, 12)]


@pytest.fixture(autouse=True)
def in_new_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    topics().create("in", partitions=1)


def topics():
    return hr.LocalTopics("topics")


def produce(*keys, first=10):
    topics().produce("in", [Record(key, 0, first + number) for number, key in enumerate(keys)])


def config(**settings):
    return hr.StreamsConfig(
        application_id="app", topics_dir="topics", state_dir="state", local_dir="local", sync_state=False, **settings
    )


def begin(spark_partitions=1, **settings):
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by(lambda key, value: key, name="by").count(store="counts").to_stream().to("out")
    graph = configured(builder.build()._graph, config(**settings))
    return start(graph, config(**settings), "a run", lambda *_: (spark_partitions, True))


def batch_of_the_log():
    return log_of(config()).view().state.batch


def written():
    if "out" not in topics().list():
        return []
    return [(r.key, r.value, r.timestamp_ms) for r in topics().read("out", value_serde=serdes.Long())]


def test_round_runs_batches_up_to_the_end_offsets_of_the_run():
    produce("a", "b", "a")
    plan = begin(max_records_per_batch=1)
    FusedRound(plan, backend_of(plan), {"in-0": 2}).run()
    assert (written(), batch_of_the_log()) == (COUNTS[:2], 1)
    FusedRound(plan, backend_of(plan), {"in-0": 3}).run()
    assert (written(), batch_of_the_log()) == (COUNTS, 2)


def test_next_start_continues_after_the_last_committed_batch():
    produce("a", "b")
    plan = begin()
    FusedRound(plan, backend_of(plan), {"in-0": 2}).run()
    produce("a", first=12)
    plan = begin()
    FusedRound(plan, backend_of(plan), {"in-0": 3}).run()
    assert (written(), batch_of_the_log()) == (COUNTS, 1)


def test_round_ends_before_a_batch_that_should_be_spread(monkeypatch):
    monkeypatch.setattr("headrace._runtime.spark.planning.batch_planner._RECORD_US", 1e6)
    produce("a", "b", "a")
    plan = begin(spark_partitions=2)
    FusedRound(plan, backend_of(plan), {"in-0": 3}).run()
    assert (written(), batch_of_the_log()) == ([], -1)


def test_run_that_is_asked_to_stop_begins_no_batch():
    produce("a")
    plan = begin()
    FinishFile(plan.state_dir).request("another run")
    FusedRound(plan, backend_of(plan), {"in-0": 1}).run()
    assert batch_of_the_log() == 0
    produce("b", first=11)
    FinishFile(plan.state_dir).request(plan.run)
    FusedRound(plan, backend_of(plan), None).run()
    assert batch_of_the_log() == 0


def test_round_of_a_start_that_was_taken_over_ends_without_writing():
    produce("a", "b", "a")
    older = begin()
    view, backend = current_view(older), backend_of(older)
    newer = begin()
    with pytest.raises(TakenOverError, match=r"start 2; this is start 1"):
        FusedRound(older, backend, {"in-0": 3}).run()
    old_round = FusedRound(older, backend, {"in-0": 3})
    with pytest.raises(TakenOverError, match=r"start 2; this is start 1"):
        old_round.run_batch(view, old_round._planner.next(view))
    assert (written(), batch_of_the_log()) == ([], -1)
    FusedRound(newer, backend_of(newer), {"in-0": 3}).run()
    assert written() == COUNTS


def test_output_that_was_committed_but_not_published_is_published_first():
    produce("a")
    plan = begin()
    backend = backend_of(plan)
    FusedRound(plan, Unpublished(backend), {"in-0": 1}).run()
    assert (written(), batch_of_the_log()) == ([], 0)
    FusedRound(plan, backend, {"in-0": 1}).run()
    assert (written(), batch_of_the_log()) == (COUNTS[:1], 0)


class Unpublished:
    """A backend whose process is killed after each commit, before it publishes the output."""

    def __init__(self, backend):
        self._backend = backend

    def __getattr__(self, name):
        return getattr(self._backend, name)

    def publish(self, plan, state):
        pass


class Query:
    """Calls a reader as Spark does: for offsets, slices and records."""

    def __init__(self, plan):
        self.reader = TopicsReader(program.dump(plan))
        self.offset = self.reader.initialOffset()

    def until_caught_up(self):
        self.reader.prepareForTriggerAvailableNow()

    def step(self):
        """Returns the slices of the next micro-batch; `None` if there is no batch."""
        end = self.reader.latestOffset(self.offset, ReadAllAvailable())
        if end == self.offset:
            return None
        slices = self.reader.partitions(self.offset, end)
        self.offset = end
        return slices

    def run_fused(self):
        """Runs the next round of fused batches; returns whether there was one."""
        slices = self.step()
        if slices is None:
            return False
        (one,) = slices
        assert (one.batch, list(self.reader.read(one))) == (None, [])
        return True


def test_sparks_offsets_only_count_micro_batches():
    produce("a", "b", "a")
    query = Query(begin())
    query.until_caught_up()
    assert query.run_fused()
    assert (query.offset, written()) == ({"step": 1}, COUNTS)
    assert not query.run_fused()
    assert query.offset == {"step": 1}


def test_run_that_is_asked_to_stop_has_no_further_micro_batch():
    produce("a")
    plan = begin()
    query = Query(plan)
    FinishFile(plan.state_dir).request(plan.run)
    assert (query.step(), query.offset) == (None, {"step": 0})


def test_backlog_has_a_slice_for_each_spark_partition(monkeypatch):
    monkeypatch.setattr("headrace._runtime.spark.planning.batch_planner._RECORD_US", 1e6)
    topics().create("wide", partitions=3)
    topics().produce("wide", [Record(f"k{n}", 0, n, partition=n % 3) for n in range(9)])
    builder = hr.StreamsBuilder()
    builder.stream("wide").group_by_key().count(store="counts").to_stream().to("out")
    plan = start(configured(builder.build()._graph, config()), config(), "a run", lambda *_: (2, True))
    slices = Query(plan).step()
    assert [(one.leads, [place[:3] for place in one.ranges]) for one in slices] == [
        (True, [(("wide", 0), 0, 3), (("wide", 2), 0, 3)]),
        (False, [(("wide", 1), 0, 3)]),
    ]
    assert {(one.batch.batch, one.batch.spread, one.batch.step) for one in slices} == {(0, 2, 1)}


def test_slow_records_are_spread_once_a_round_has_measured_them(monkeypatch):
    class SlowTime:
        """A clock that advances by a second at each call."""

        def __init__(self):
            self.now_s = 0.0

        def monotonic(self):
            self.now_s += 1.0
            return self.now_s

    monkeypatch.setattr(fused, "time", SlowTime())
    topics().produce("in", [Record("k", 0, number) for number in range(5_000)])
    query = Query(replace(begin(spark_partitions=2), max_records=1_000))
    query.until_caught_up()
    assert query.run_fused()
    assert batch_of_the_log() == 0
    assert all(one.batch is not None for one in query.step())
