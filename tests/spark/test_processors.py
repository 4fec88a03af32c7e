"""Processors on Spark: fields across batches and runs, the wall clock with and without input, unpicklable fields."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record
from tests.support.clocks import FileClock
from tests.support.runtimes import SparkRuntime

pytestmark = pytest.mark.spark


@pytest.fixture
def runtime(spark, tmp_path):
    return SparkRuntime(spark, tmp_path, partitions=2)


class Ticking(hr.Processor):
    """Counts its firings in a field; a tick is a record (task, count)."""

    def __init__(self, interval):
        self.interval, self.fired, self.seen = interval, 0, 0

    def init(self, context):
        super().init(context)
        context.schedule(self.interval, hr.PunctuationType.WALL_CLOCK_TIME, self.tick)

    def process(self, record):
        self.seen += 1
        self.context.forward(record.with_value(self.seen))

    def tick(self, timestamp_ms):
        self.fired += 1
        self.context.forward(Record(self.context.task_id, self.fired))


def ticking(interval):
    builder = hr.StreamsBuilder()
    builder.stream("in").process(lambda: Ticking(interval)).to("out")
    return builder.build()


def test_wall_clock_fires_in_tasks_that_never_saw_a_record(runtime):
    topology = ticking(timedelta(milliseconds=300))
    runtime.topics.create("in", partitions=2)
    app = hr.Streams(topology, runtime.config(), spark=runtime.spark)
    app.start()
    deadline = time.monotonic() + 60
    try:
        while True:
            found = runtime.outputs(topology)["out"]
            by_task = {task: [record for record in found if record.key == task] for task in ("0_0", "0_1")}
            if min(map(len, by_task.values())) >= 3:
                break
            assert time.monotonic() < deadline, f"only {found}"
            assert not app.await_termination(timedelta(milliseconds=50))
    finally:
        app.stop()
    for records in by_task.values():
        assert [record.value for record in records] == list(range(1, len(records) + 1))
        times = [record.timestamp_ms for record in records]
        assert times == sorted(set(times))


def test_wall_clock_fires_due_schedules_and_a_catch_up_run_ends(runtime):
    topology = ticking(timedelta(milliseconds=10))
    runtime.topics.create("in", partitions=2)
    clock = FileClock(runtime.directory / "clock")
    app = hr.Streams(topology, runtime.config(), spark=runtime.spark)
    app._application.clock = clock
    for time_ms in (0, 10, 45, 49):
        clock.set(time_ms)
        app.process_available()
    found = [(record.key, record.value, record.timestamp_ms) for record in runtime.outputs(topology)["out"]]
    assert sorted(found) == [("0_0", 1, 10), ("0_0", 2, 45), ("0_1", 1, 10), ("0_1", 2, 45)]


@pytest.mark.slow
def test_fields_survive_batches_and_calls_but_not_the_run(runtime):
    topology = ticking(timedelta(days=1))
    counts = []
    app = hr.Streams(topology, runtime.config(max_records_per_batch=1), spark=runtime.spark)
    for first in (0, 2):
        runtime.produce(topology, [("in", "k", "v", first), ("in", "k", "v", first + 1)])
        app.process_available()
    runtime.produce(topology, [("in", "k", "v", 9)])
    hr.Streams(topology, runtime.config(), spark=runtime.spark).process_available()
    counts = [record.value for record in runtime.outputs(topology)["out"]]
    assert counts == [1, 2, 3, 4, 1]


def test_field_that_cannot_be_pickled_is_named(runtime):
    class Locked(hr.Processor):
        def init(self, context):
            super().init(context)
            self.guard = threading.Lock()

        def process(self, record):
            self.context.forward(record)

    topology = hr.Topology().add_source("source", "in").add_processor("locked", Locked, parents=["source"])
    message = r"Processor 'locked' has the field 'guard' of type lock, which cannot be pickled: .*__getstate__"
    with pytest.raises(hr.StateError, match=message):
        runtime.run(topology, [("in", "k", "v", 1)])


def test_field_left_out_of_the_pickle_is_created_when_needed(runtime):
    class Lazy(hr.Processor):
        lock = None

        def process(self, record):
            self.lock = self.lock or threading.Lock()
            with self.lock:
                self.context.forward(record)

        def __getstate__(self):
            return {name: value for name, value in vars(self).items() if name != "lock"}

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Lazy).to("out")
    inputs = [("in", "k", "v", timestamp_ms) for timestamp_ms in range(3)]
    outputs, _ = runtime.run(builder.build(), inputs, config={"max_records_per_batch": 1})
    assert outputs["out"] == [Record("k", "v", timestamp_ms) for timestamp_ms in range(3)]


@pytest.mark.slow
def test_catch_up_run_ends_although_a_schedule_writes_to_an_input_topic(runtime):
    builder = hr.StreamsBuilder()
    ticks = builder.stream("loop").filter(lambda key, value: False).process(lambda: Ticking(timedelta(milliseconds=1)))
    ticks.to("loop")
    topology = builder.build()
    runtime.topics.create("loop", partitions=1)
    app = hr.Streams(topology, runtime.config(), spark=runtime.spark)
    app.process_available()
    app.process_available()
    assert 1 <= len(runtime.topics.read("loop")) < 20
