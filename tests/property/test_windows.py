"""Results of windows do not depend on cuts and repeated batches nor, with a clock for each key, on interleaving."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner


def ms(milliseconds):
    return timedelta(milliseconds=milliseconds)


@dataclass(frozen=True)
class Shifts(hr.Windows):
    """Windows of 9 ms and of 3 ms take turns, with a gap of a millisecond; a window of 5 ms overlaps both."""

    size_ms = 9
    grace = ms(4)

    def windows_for(self, timestamp_ms):
        start_ms = timestamp_ms // 13 * 13
        turns = (hr.Window(start_ms, start_ms + 9), hr.Window(start_ms + 7, start_ms + 12))
        turns = (*turns, hr.Window(start_ms + 9, start_ms + 12))
        return [window for window in turns if window.start_ms <= timestamp_ms < window.end_ms]


WINDOWS = {
    "own": Shifts(),
    "tumbling": hr.TimeWindows.of(ms(10), grace=ms(4)),
    "hopping": hr.TimeWindows.of(ms(10), advance=ms(4), grace=ms(3)),
    "sliding": hr.SlidingWindows.of(ms(6), grace=ms(4)),
    "session": hr.SessionWindows.of(ms(5), grace=ms(4)),
}
KEYS = st.sampled_from(["a", "b", "c", "d", "e"])
VALUES = st.sampled_from(["x", "y", "z"])
RECORDS = st.lists(st.tuples(KEYS, VALUES, st.integers(0, 60) | st.integers(200, 260)), min_size=1, max_size=30)
CUTS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, None, "before", "after", "restart"])), max_size=10)


def topology(windows):
    """Counts and texts: every update, final results by emit strategy and by suppress, and late records."""
    builder = hr.StreamsBuilder()
    grouped = builder.stream("in", value_serde=serdes.String()).group_by_key()
    windowed = grouped.windowed_by(windows, late_to="late")
    add = lambda key, value, text: text + value  # noqa: E731
    merge = [lambda key, left, right: left + right] if isinstance(windows, hr.SessionWindows) else []
    texts = windowed.aggregate(str, add, *merge)
    texts.to_stream().to("updates")
    texts.suppress(hr.Suppressed.until_window_closes()).to_stream().to("suppressed")
    grouped.windowed_by(windows).emit_strategy(hr.EmitStrategy.on_window_close()).aggregate(
        str, add, *merge
    ).to_stream().to("final")
    grouped.windowed_by(windows).count().suppress(hr.Suppressed.until_window_closes()).to_stream().to("counts")
    return builder.build()


def on_plan(windows, records, cuts, *, tracking, partitions=2):
    with TemporaryDirectory() as name:
        directory = Path(name)
        topics = hr.LocalTopics(directory / "topics")
        topics.create("in", partitions=partitions)
        topics.produce("in", [hr.Record(*record) for record in records], value_serde=serdes.String())
        config = hr.StreamsConfig(application_id="test", allow_stream_time_key_tracking=tracking)
        runner = PlanRunner(topology(windows), directory, config=config)
        for limit, event in cuts:
            if event in ("before", "after"):
                runner.run_batch(limit, fail=event)
            elif event == "restart":
                runner.restart()
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        return runner.outputs()


@pytest.mark.parametrize("tracking", [False, True], ids=["one clock", "a clock for each key"])
@pytest.mark.parametrize("kind", WINDOWS)
def test_cuts_failures_and_restarts_do_not_change_any_result(kind, tracking):
    @settings(max_examples=examples(12))
    @given(records=RECORDS, cuts=CUTS)
    def check(records, cuts):
        whole = on_plan(WINDOWS[kind], records, [], tracking=tracking)
        assert on_plan(WINDOWS[kind], records, cuts, tracking=tracking) == whole

    check()


def by_key(windows, records):
    """The outputs of the driver with a clock for each key, by topic and key."""
    config = hr.StreamsConfig(application_id="test", allow_stream_time_key_tracking=True)
    found = {}
    with TopologyTestDriver(topology(windows), config) as driver:
        for record in records:
            driver.input_topic("in").pipe(*record)
        for topic in ("updates", "suppressed", "final", "counts", "late"):
            for record in driver.output_topic(topic).read_all():
                key = getattr(record.key, "key", record.key)
                found.setdefault((topic, key), []).append(record)
    return found


@pytest.mark.parametrize("kind", WINDOWS)
def test_with_a_clock_for_each_key_results_of_a_key_do_not_depend_on_other_keys(kind):
    @settings(max_examples=examples(40))
    @given(records=RECORDS)
    def check(records):
        alone = {}
        for key in {key for key, _, _ in records}:
            alone |= by_key(WINDOWS[kind], [record for record in records if record[0] == key])
        assert by_key(WINDOWS[kind], records) == alone

    check()


@pytest.mark.parametrize("kind", WINDOWS)
def test_with_a_clock_for_each_key_the_order_of_unrelated_keys_does_not_matter(kind):
    @settings(max_examples=examples(40))
    @given(records=RECORDS, data=st.data())
    def check(records, data):
        numbered = {}
        for record in records:
            numbered.setdefault(record[0], []).append(record)
        turns = data.draw(st.permutations([key for key, _, _ in records]))
        shuffled = [numbered[key].pop(0) for key in turns]
        assert by_key(WINDOWS[kind], shuffled) == by_key(WINDOWS[kind], records)

    check()
