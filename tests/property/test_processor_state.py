"""Processors keep their state and schedules however batches are cut, lost and repeated, and wherever they run.

Tests fields, schedules and stores of processors, on real state; the clock advances after all records.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace._state.changes.delta import Columns
from headrace._state.replica.replica import Replica
from headrace.testing import TopologyTestDriver
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner
from tests.support.topologies import busy

RECORDS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 60), st.integers(0, 2)), max_size=30
)
EVENTS = st.sampled_from([None, None, "before", "after", "restart"])
CUTS = st.lists(st.tuples(st.integers(1, 12), EVENTS), max_size=10)
MOVES = st.lists(st.tuples(st.integers(0, 25), EVENTS), max_size=4)


def run(records, cuts, moves, partitions):
    with TemporaryDirectory() as name:
        topics = hr.LocalTopics(Path(name) / "topics")
        topics.create("in", partitions=partitions)
        listed = [hr.Record(key, value, at, partition=where % partitions) for key, value, at, where in records]
        topics.produce("in", listed)
        runner = PlanRunner(busy(), Path(name))
        one(runner, 1, None, tick=True)
        for limit, event in cuts:
            one(runner, limit, event)
        while runner.run_batch(1_000):
            pass
        for milliseconds, event in moves:
            runner.clock_ms += milliseconds
            one(runner, 1, event, tick=True)
        return runner.outputs()


def one(runner, limit, event, *, tick=False):
    if event == "restart":
        runner.restart()
    elif event is not None:
        runner.run_batch(limit, fail=event, tick=tick)
    runner.run_batch(limit, tick=tick)


@settings(max_examples=examples(40))
@given(records=RECORDS, cuts=CUTS, moves=MOVES)
def test_cuts_failures_and_moves_between_machines_do_not_change_what_processors_do(records, cuts, moves):
    undisturbed = [(milliseconds, None) for milliseconds, _ in moves]
    assert run(records, cuts, moves, 3) == run(records, [], undisturbed, 3)


@settings(max_examples=examples(25))
@given(records=RECORDS, moves=MOVES, limit=st.integers(1, 12))
def test_driver_and_plan_run_processors_alike(records, moves, limit):
    found = run(records, [(limit, None)] * 40, moves, 1)
    with TopologyTestDriver(busy()) as driver:
        for key, value, timestamp_ms, _ in records:
            driver.input_topic("in").pipe(key, value, timestamp_ms)
        for milliseconds, _ in moves:
            driver._runtime.advance(milliseconds)
        outputs = driver._runtime.outputs
        expected = [(message.key, message.value, message.timestamp_ms) for message in outputs.get("first", [])]
    assert found["first"].get(0, []) == expected


def test_processor_restored_in_the_same_run_uses_the_current_code(tmp_path):
    """A batch repeated after a failure belongs to the run that planned it, but must still use corrected code."""

    def versioned(version):
        class Versioned(hr.Processor):
            seen = 0

            def process(self, record):
                self.seen += 1
                self.context.forward(record.with_value([version, self.seen]))

        Versioned.__module__ = "__main__"  # as in a script, whose classes are pickled by value
        builder = hr.StreamsBuilder()
        builder.stream("in").process(lambda: Versioned()).to("out")
        return builder.build()

    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=1)
    topics.produce("in", [hr.Record("k", "v", timestamp_ms) for timestamp_ms in range(4)])
    runner = PlanRunner(versioned("old"), tmp_path)
    runner.run_batch(2)
    runner.topology = versioned("new")
    runner.restart()
    runner.run_batch(2)
    found = [record.value for record in topics.read("out")]
    assert found == [["old", 1], ["old", 2], ["new", 3], ["new", 4]]


class CountsKey(hr.Processor):
    """Forwards how many records with the key "counted" it has seen."""

    seen = 0

    def process(self, record):
        self.seen += record.key == "counted"
        self.context.forward(record.with_value(self.seen))


class Evil:
    """Creates a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_processors_are_never_unpickled_from_a_replica(tmp_path):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=1)
    keys = ["counted", "counted", "other", "other", "other", "counted"]
    topics.produce("in", [hr.Record(key, "v", timestamp_ms) for timestamp_ms, key in enumerate(keys)])
    builder = hr.StreamsBuilder()
    builder.stream("in").process(CountsKey).to("out")
    runner = PlanRunner(builder.build(), tmp_path)
    evil = runner.run.encode() + b"\x00" + pickle.dumps(Evil(tmp_path / "evil"))
    for _ in range(3):
        runner.run_batch(2)
        replica = Replica(next((tmp_path / "local-1").rglob("live-*")).parent)
        with replica.snapshot() as snapshot:
            position, stores = snapshot.position, snapshot.stores
        changed = {store: Columns([b"processors"], [evil]) for store in [*stores, "$task"]}
        assert replica.apply(changed, position, position)
        replica.close()
    assert not (tmp_path / "evil").exists()
    assert [record.value for record in topics.read("out")] == [1, 2, 2, 2, 2, 3]
