"""stream_time_key_idle: the windows of a key without records close by the wall clock, and the key starts afresh."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import Record, Suppressed, serdes
from headrace.testing import TopologyTestDriver
from tests.support.clocks import FileClock
from tests.support.plan_runner import PlanRunner
from tests.support.runtimes import SparkRuntime

MS = timedelta(milliseconds=1)
IDLE = 50
SETTINGS = {"allow_stream_time_key_tracking": True, "stream_time_key_idle": IDLE * MS}
WINDOWS = {
    "tumbling": hr.TimeWindows.of(10 * MS, grace=2 * MS),
    "hopping": hr.TimeWindows.of(10 * MS, advance=5 * MS, grace=2 * MS),
    "sliding": hr.SlidingWindows.of(10 * MS, grace=3 * MS),
    "session": hr.SessionWindows.of(5 * MS, grace=4 * MS),
}


def on_close(windows):
    builder = hr.StreamsBuilder()
    windowed = builder.stream("in").group_by_key().windowed_by(WINDOWS[windows])
    windowed.emit_strategy(hr.EmitStrategy.on_window_close()).count(store="counts", name="held").to_stream().to("out")
    return builder.build()


def suppressed(windows):
    builder = hr.StreamsBuilder()
    counts = builder.stream("in").group_by_key().windowed_by(WINDOWS[windows]).count(store="counts")
    counts.suppress(Suppressed.until_window_closes(), name="held").to_stream().to("out")
    return builder.build()


def limited(_=None):
    builder = hr.StreamsBuilder()
    rows = builder.table("in", value_serde=serdes.String())
    rows.suppress(Suppressed.until_time_limit(20 * MS), name="held").to_stream().to("out")
    return builder.build()


BUILDS = [(build, windows) for build in (on_close, suppressed) for windows in WINDOWS] + [(limited, None)]


class Driven:
    """A driver with the setting on; steps are records, or milliseconds by which the wall clock advances."""

    def __init__(self, topology):
        self.driver = TopologyTestDriver(topology, hr.StreamsConfig(application_id="t", **SETTINGS))

    def out(self, *steps, restarts=False):
        for step in steps:
            if isinstance(step, int):
                self.driver.advance_wall_clock(step * MS)
            else:
                key, at = step.split("@")
                self.driver.input_topic("in").pipe(key, "v", int(at), headers=[("h", b"1")])
            if restarts:
                self.driver.restart()
        records = self.driver.output_topic("out").read_all()
        return [(str(r.key), r.value, r.timestamp_ms, r.headers) for r in records]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("build", [on_close, suppressed])
def test_windows_of_silent_keys_close_in_the_order_of_end_and_key(build, restarts):
    driven = Driven(build("tumbling"))
    assert driven.out("b@3", "a@11", "b@4", 30, "c@1", 19, restarts=restarts) == []
    assert driven.out(1, restarts=restarts) == [("[b@0/10]", 2, 4, ()), ("[a@10/20]", 1, 11, ())]
    assert driven.out(29, restarts=restarts) == []
    assert driven.out(1, restarts=restarts) == [("[c@0/10]", 1, 1, ())]
    assert driven.out(1_000, restarts=restarts) == []


def test_a_record_of_a_key_keeps_it_from_becoming_idle_even_a_late_one():
    driven = Driven(on_close("tumbling"))
    assert driven.out("a@3", "a@25", 40, "a@1", 49) == [("[a@0/10]", 1, 3, (("h", b"1"),))]
    assert driven.out(1) == [("[a@20/30]", 1, 25, ())]


def test_for_suppress_a_key_is_idle_if_no_record_reaches_it():
    driven = Driven(suppressed("tumbling"))
    assert driven.out("a@3", "a@25", 40, "a@1", 9) == [("[a@0/10]", 1, 3, (("h", b"1"),))]
    assert driven.out(1) == [("[a@20/30]", 1, 25, ())]


def test_rows_with_a_time_limit_are_emitted_too():
    driven = Driven(limited())
    assert driven.out("b@7", "a@9", "b@8", 49) == []
    assert driven.out(1) == [("b", "v", 8, ()), ("a", "v", 9, ())]


@pytest.mark.parametrize(("build", "windows"), BUILDS)
def test_an_idle_key_is_deleted_from_every_store(build, windows):
    driven = Driven(build(windows))
    driven.out("a@30", "a@44", "b@31", 20, "b@33", 30)
    stores = {name for name in driven.driver._graph.stores if name.endswith("time-table")}
    assert all([key for key, _ in driven.driver.store(name).all()] == ["b"] for name in stores)
    if windows is not None:
        assert {windowed.key for windowed, _ in driven.driver.store("counts").all()} == {"b"}


TIMES = st.lists(st.integers(0, 60), min_size=1, max_size=8)


@settings(max_examples=25)
@given(before=TIMES, after=TIMES)
@pytest.mark.parametrize(("build", "windows"), BUILDS)
def test_an_evicted_key_is_treated_like_a_new_one(build, windows, before, after):
    """Another key that never falls silent must not be affected."""
    driven = Driven(build(windows))
    driven.out(*(f"a@{at}" for at in before), 26, "z@5", 24)
    results = driven.out(*(f"a@{at}" for at in after), 24, "z@5", 26)
    fresh = Driven(build(windows))
    fresh.out(26, "z@5", 24)
    assert results == fresh.out(*(f"a@{at}" for at in after), 24, "z@5", 26)
    assert [name for name, *_ in results if "z" in name] == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(0, 1)),
        st.integers(0, 40),
    ),
    max_size=20,
)
EVENTS = st.sampled_from([None, None, "before", "after", "restart"])


def planned(topology, steps, events):
    """The output of a plan; each step is a batch of its own, to which one of the events happens."""
    with TemporaryDirectory() as name:
        topics = hr.LocalTopics(Path(name) / "topics")
        topics.create("in", partitions=2)
        runner = PlanRunner(topology, Path(name), config=hr.StreamsConfig(application_id="t", **SETTINGS))
        for number, step in enumerate([*steps, 1_000]):
            if isinstance(step, int):
                runner.clock_ms += step
            else:
                key, at, where = step
                topics.produce("in", [Record(key, "v", at, partition=where)])
            event = events[number] if number < len(events) else None
            if event == "restart":
                runner.restart()
            elif event is not None:
                runner.run_batch(10, fail=event, tick=True)
            runner.run_batch(10, tick=True)
        return {where: rows for where, rows in runner.output("out").items() if rows}


@settings(max_examples=20)
@given(steps=STEPS, events=st.lists(EVENTS, max_size=20))
@pytest.mark.parametrize(("build", "windows"), [(on_close, "tumbling"), (suppressed, "session")])
def test_failures_and_moves_to_other_machines_do_not_change_which_windows_close(build, windows, steps, events):
    assert planned(build(windows), steps, events) == planned(build(windows), steps, [])


@settings(max_examples=20)
@given(steps=STEPS)
@pytest.mark.parametrize(("build", "windows"), [(on_close, "sliding"), (suppressed, "tumbling")])
def test_driver_and_plan_close_the_same_windows(build, windows, steps):
    config = hr.StreamsConfig(application_id="t", **SETTINGS)
    with TopologyTestDriver(build(windows), config) as driver:
        for step in [*steps, 1_000]:
            if isinstance(step, int):
                driver.advance_wall_clock(step * MS)
            else:
                key, at, where = step
                driver.input_topic("in").pipe(key, "v", at, partition=where)
        expected = [(m.key, m.value, m.timestamp_ms) for m in driver._runtime.outputs.get("out", [])]
    results = planned(build(windows), steps, [])
    assert sorted(row for rows in results.values() for row in rows) == sorted(expected)


def test_batch_form_is_not_used_and_counts_are_the_same(tmp_path):
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by_key().windowed_by(WINDOWS["tumbling"]).count(store="counts").to_stream().to("out")
    results = planned(builder.build(), [("a", 3, 0), 50, ("a", 4, 0)], [])
    assert [(value, at) for _, value, at in results[0]] == [(b"\0\0\0\0\0\0\0\x01", 3), (b"\0\0\0\0\0\0\0\x01", 4)]


@pytest.mark.spark
@pytest.mark.slow
def test_on_spark_idle_keys_are_found_without_new_records(spark, tmp_path):
    runtime = SparkRuntime(spark, tmp_path, partitions=2)
    topology = suppressed("tumbling")
    clock = FileClock(tmp_path / "clock")
    runtime.produce(topology, [("in", "b", "v", 3), ("in", "a", "v", 11)])
    app = hr.Streams(topology, runtime.config(**SETTINGS), spark=spark)
    app._application.clock = clock
    clock.set(1_000)
    app.process_available()
    assert runtime.outputs(topology).get("out") == []
    clock.set(1_000 + IDLE)
    app.process_available()
    results = [(str(record.key), record.value, record.timestamp_ms) for record in runtime.outputs(topology)["out"]]
    assert sorted(results) == [("[a@10/20]", 1, 11), ("[b@0/10]", 1, 3)]
    assert app.explain_pending()[0].waiting == 0
