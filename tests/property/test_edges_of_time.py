"""Timestamps up to 2^63-1: no operator overflows, batch forms equal the record path, and Spark the driver."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver
from tests.support.columnar import run
from tests.support.columnar_joins import joined, run_join
from tests.support.dose import examples
from tests.support.edges_of_time import END, times
from tests.support.plan_runner import PlanRunner

TRACKING = pytest.mark.parametrize("tracking", [False, True], ids=["one clock", "a clock for each key"])
KEYS = st.sampled_from(["a", "b"])


def ms(milliseconds):
    return timedelta(milliseconds=milliseconds)


def input_records(moments):
    return st.lists(st.tuples(KEYS, st.integers(0, 3), moments, st.just(())), max_size=12)


@TRACKING
@pytest.mark.parametrize("final", [False, True], ids=["every update", "final results"])
@pytest.mark.parametrize(("size", "grace"), [(1, 0), (10, 3), (2**56, 2**56)])
def test_tumbling_count_in_columns_equals_count_by_records(size, grace, final, tracking):
    builder = hr.StreamsBuilder()
    counts = builder.stream("in").group_by_key().windowed_by(hr.TimeWindows.of(ms(size), grace=ms(grace)))
    table = counts.count(store="counts")
    if final:
        table = table.suppress(hr.Suppressed.until_window_closes(), name="final")
    table.to_stream().to("out")
    topology = builder.build()

    @settings(max_examples=examples(60))
    @given(st.lists(st.tuples(input_records(times()), input_records(times())), min_size=1, max_size=3))
    def check(chunks):
        switch = {"allow_stream_time_key_tracking": tracking}
        by_records = run(topology, chunks, serdes.String(), columnar=False, **switch)
        assert run(topology, chunks, serdes.String(), columnar=True, **switch) == by_records

    check()


@pytest.mark.parametrize("method", ["join", "left_join", "outer_join"])
def test_join_of_streams_in_columns_equals_the_join_by_records(method):
    records = st.lists(st.tuples(KEYS, st.integers(0, 2), times(), st.just(())), min_size=1, max_size=8)
    batch = st.lists(st.tuples(st.sampled_from(["in", "other"]), records), max_size=3)
    spans = st.integers(0, 12) | st.just(2**56)

    last_ms = 2**63 - 1

    @settings(max_examples=examples(100))
    @given(before=spans, after=spans, grace=spans, shift=st.integers(-5, 5), batches=st.lists(batch, max_size=3))
    @example(0, 2**56, 2**56, -2, [[("other", [("a", 0, last_ms, ())])], [("in", [("a", 0, last_ms - 1, ())])]])
    @example(0, 0, 5, -4, [[("other", [("a", 0, last_ms, ())])], [("in", [("a", 0, last_ms, ())])]])
    def check(before, after, grace, shift, batches):
        windows = hr.JoinWindows(before + shift, after - shift, grace)
        topology = joined(method, serdes.String(), windows, serdes.Json(), mapped=False)
        by_records = run_join(topology, batches, serdes.String(), serdes.Json(), columnar=False)
        assert run_join(topology, batches, serdes.String(), serdes.Json(), columnar=True) == by_records

    check()


WINDOWS = {
    "tumbling": hr.TimeWindows.of(ms(10), grace=ms(4)),
    "tumbling without grace": hr.TimeWindows.of(ms(10)),
    "hopping": hr.TimeWindows.of(ms(12), advance=ms(4), grace=ms(3)),
    "sliding": hr.SlidingWindows.of(ms(6), grace=ms(4)),
    "session": hr.SessionWindows.of(ms(5), grace=ms(4)),
}


def windowed(windows):
    """Counts: every update, final results by emit strategy and by suppress, and late records."""
    builder = hr.StreamsBuilder()
    grouped = builder.stream("in", value_serde=serdes.String()).group_by_key()
    counts = grouped.windowed_by(windows, late_to="late").count()
    counts.to_stream().to("updates")
    counts.suppress(hr.Suppressed.until_window_closes()).to_stream().to("suppressed")
    counts.suppress(hr.Suppressed.until_time_limit(ms(7))).to_stream().to("limited")
    closing = grouped.windowed_by(windows).emit_strategy(hr.EmitStrategy.on_window_close())
    closing.count().to_stream().to("final")
    return builder.build()


def unlimited():
    builder = hr.StreamsBuilder()
    grouped = builder.stream("in", value_serde=serdes.String()).group_by_key()
    grouped.windowed_by(hr.UnlimitedWindows.starting_at(5)).count().to_stream().to("updates")
    return builder.build()


def joins(windows=None):
    """Joins of two streams, of a stream with a versioned table, with and without grace, of versioned tables."""
    windows = hr.JoinWindows(4, 7, 3) if windows is None else windows
    builder = hr.StreamsBuilder()
    pair = lambda left, right: f"{left}{right}"  # noqa: E731
    stream = builder.stream("in", value_serde=serdes.String())
    other = builder.stream("other", value_serde=serdes.String())
    history = [hr.Stores.versioned_key_value(name, history=ms(40)) for name in ("rows", "copies")]
    table = builder.table("rows", value_serde=serdes.String(), store=history[0])
    for method in ("join", "left_join", "outer_join"):
        getattr(stream, method)(other, pair, within=windows).to(method)
    stream.left_join(table, pair).to("as-of")
    stream.left_join(table, pair, grace=ms(8), name="graceful").to("with-grace")
    copies = other.to_table(store=history[1], value_serde=serdes.String())
    copies.outer_join(table, pair).to_stream().to("tables")
    return builder.build()


def punctuated():
    """Processors with schedules of stream time, of the wall clock, and without any."""

    class Punctual(hr.Processor):
        def init(self, context):
            self.context = context
            context.schedule(ms(10), hr.PunctuationType.STREAM_TIME, self.fire)
            context.schedule(ms(10), hr.PunctuationType.STREAM_TIME, self.fire, time_shift=ms(0))

        def fire(self, timestamp_ms):
            self.context.forward(hr.Record("fired", str(timestamp_ms), timestamp_ms))

        def process(self, record):
            self.context.forward(record)

    class WallClock(Punctual):
        def init(self, context):
            self.context = context
            context.schedule(ms(10), hr.PunctuationType.WALL_CLOCK_TIME, self.fire)

    builder = hr.StreamsBuilder()
    for topic, processor in (("in", Punctual), ("other", WallClock)):
        processed = builder.stream(topic, value_serde=serdes.String()).process(processor)
        processed.to(f"{topic}-processed", value_serde=serdes.String())
    return builder.build()


TOPOLOGIES = {name: lambda windows=windows: windowed(windows) for name, windows in WINDOWS.items()}
TOPOLOGIES |= {"unlimited": unlimited, "joins": joins, "punctuation": punctuated}


def on_driver(topology, records, *, tracking=False):
    """All outputs, decoded, by topic."""
    config = hr.StreamsConfig(application_id="test", allow_stream_time_key_tracking=tracking)
    found = {}
    with TopologyTestDriver(topology, config) as driver:
        for topic, *record in records:
            driver.input_topic(topic).pipe(*record)
        for topic in sorted(topology._graph.sink_topics):
            found[topic] = [(r.key, r.value, r.timestamp_ms) for r in driver.output_topic(topic).read_all()]
    return found


def piped(topology, moments):
    topics = sorted(topology._graph.source_topics)
    return st.lists(st.tuples(st.sampled_from(topics), KEYS, st.sampled_from("xyz"), moments), min_size=1, max_size=20)


def on_plan(topology, records, limits, *, tracking):
    with TemporaryDirectory() as name:
        directory = Path(name)
        topics = hr.LocalTopics(directory / "topics")
        for topic in topology._graph.source_topics:
            topics.create(topic, partitions=2)
            topics.produce(topic, [hr.Record(*r) for to, *r in records if to == topic], value_serde=serdes.String())
        config = hr.StreamsConfig(application_id="test", allow_stream_time_key_tracking=tracking)
        runner = PlanRunner(topology, directory, config=config)
        for limit in limits:
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        return runner.outputs()


@TRACKING
@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_no_operator_overflows_and_cuts_do_not_change_any_result(kind, tracking):
    topology = TOPOLOGIES[kind]()

    @settings(max_examples=examples(25))
    @given(records=piped(topology, times()), limits=st.lists(st.integers(1, 5), max_size=6))
    def check(records, limits):
        on_driver(topology, records, tracking=tracking)
        whole = on_plan(topology, records, [], tracking=tracking)
        assert on_plan(topology, records, limits, tracking=tracking) == whole

    check()


SHIFT = END // 120 * 120 - 120_000  # a multiple of all sizes and advances
LAST = END - SHIFT


def shifted(found):
    """Results as if they had come `SHIFT` later, with windows cut off at the end of time."""
    return {
        topic: [(_later_key(key), value, timestamp_ms + SHIFT) for key, value, timestamp_ms in results]
        for topic, results in found.items()
    }


def _later_key(key):
    if not isinstance(key, hr.Windowed):
        return key
    return hr.Windowed(key.key, hr.Window(key.window.start_ms + SHIFT, min(key.window.end_ms + SHIFT, END)))


@TRACKING
@pytest.mark.parametrize("kind", [*WINDOWS, "joins"])
def test_records_at_the_end_of_time_give_the_results_of_earlier_records(kind, tracking):
    topology = TOPOLOGIES[kind]()

    @settings(max_examples=examples(100))
    @given(records=piped(topology, st.integers(LAST - 30, LAST) | st.just(LAST)))
    def check(records):
        earlier = on_driver(topology, records, tracking=tracking)
        late = [(topic, key, value, at + SHIFT) for topic, key, value, at in records]
        assert on_driver(topology, late, tracking=tracking) == shifted(earlier)

    check()
