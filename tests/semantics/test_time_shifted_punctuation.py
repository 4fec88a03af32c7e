"""Punctuation with a time shift (KAFKA-13678).

With a shift, a schedule is due at `shift + n * interval` since the epoch, whenever it was created, whatever the first
record was, and also after a restart. A time exactly on the grid fires once. A clock that jumps over several due times
fires once, with its current time, and continues with the next due time. Without a shift, a stream-time schedule counts
from the first record it sees, which fires it; a wall-clock schedule counts from its creation.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace.testing import TopologyTestDriver

STREAM, WALL = hr.PunctuationType.STREAM_TIME, hr.PunctuationType.WALL_CLOCK_TIME


def ms(milliseconds):
    return timedelta(milliseconds=milliseconds)


class Ticking(hr.Processor):
    """Each schedule is (name, type, interval, shift); a firing is a record (name, time)."""

    def __init__(self, *schedules):
        self._schedules = schedules

    def init(self, context):
        super().init(context)
        for name, kind, interval, shift in self._schedules:
            tick = lambda timestamp_ms, name=name: context.forward(hr.Record(name, timestamp_ms))  # noqa: E731
            context.schedule(ms(interval), kind, tick, None if shift is None else ms(shift))

    def process(self, record):
        pass


def ticking(*schedules):
    builder = hr.StreamsBuilder()
    builder.stream("in").process(lambda: Ticking(*schedules)).to("out")
    return builder.build()


def ticks(records):
    assert all(record.timestamp_ms == record.value for record in records)
    return [record.value for record in records]


def fired(runtime, interval, shift, *timestamps):
    inputs = [("in", "k", "v", timestamp_ms) for timestamp_ms in timestamps]
    outputs, _ = runtime.run(ticking(("tick", STREAM, interval, shift)), inputs)
    return ticks(outputs["out"])


def test_without_a_shift_stream_time_counts_from_the_first_record(runtime):
    assert fired(runtime, 10, None, *range(12, 50)) == [12, 22, 32, 42]


@pytest.mark.parametrize(
    ("interval", "shift", "timestamps", "expected"),
    [
        (10, 0, range(26, 52), [30, 40, 50]),
        (10, 0, range(30, 42), [30, 40]),
        (10, 0, range(22), [0, 10, 20]),
        (10, 5, range(5, 27), [5, 15, 25]),
        (10, 5, range(6, 27), [15, 25]),
        (10, 25, range(20), [5, 15]),
        (10, -3, range(20), [7, 17]),
        (10, 0, [26, 57, 60], [57, 60]),
        (10, 3, [26, 33, 33, 20, 34, 43], [33, 43]),
    ],
)
def test_with_a_shift_the_grid_does_not_depend_on_the_first_record(runtime, interval, shift, timestamps, expected):
    assert fired(runtime, interval, shift, *timestamps) == expected


def test_schedules_with_different_shifts_are_independent(runtime):
    topology = ticking(("a", STREAM, 10, 0), ("b", STREAM, 10, 5), ("c", STREAM, 10, None), ("d", STREAM, 7, -1))
    outputs, _ = runtime.run(topology, [("in", "k", "v", timestamp_ms) for timestamp_ms in range(12, 33)])
    by_name = {name: [r.value for r in outputs["out"] if r.key == name] for name in "abcd"}
    assert by_name == {"a": [20, 30], "b": [15, 25], "c": [12, 22, 32], "d": [13, 20, 27]}
    assert [r.key for r in outputs["out"] if r.value == 20] == ["a", "d"]


def test_punctuation_output_comes_right_after_the_output_of_the_record_that_caused_it(runtime):
    class Echoing(Ticking):
        def process(self, record):
            self.context.forward(record)

    builder = hr.StreamsBuilder()
    builder.stream("in").process(lambda: Echoing(("tick", STREAM, 10, 0))).to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", t, t) for t in (8, 10, 11, 35)])
    assert [(r.key, r.value) for r in outputs["out"]] == [
        ("k", 8), ("k", 10), ("tick", 10), ("k", 11), ("k", 35), ("tick", 35),
    ]  # fmt: skip


def test_a_restart_resets_a_schedule_without_a_shift_and_keeps_the_grid_of_one_with_a_shift():
    with TopologyTestDriver(ticking(("none", STREAM, 10, None), ("five", STREAM, 10, 5))) as driver:
        records = driver.input_topic("in")
        for timestamp_ms in (12, 15, 22, 25):
            records.pipe("k", "v", timestamp_ms)
        driver.restart()
        for timestamp_ms in (26, 34, 35, 36, 45, 46):
            records.pipe("k", "v", timestamp_ms)
        found = [(record.key, record.value) for record in driver.output_topic("out").read_all()]
    assert [time for name, time in found if name == "none"] == [12, 22, 26, 36, 46]
    assert [time for name, time in found if name == "five"] == [15, 25, 35, 45]


@pytest.mark.parametrize("restarts", [1, 3])
def test_a_restart_exactly_on_a_boundary_fires_it_once_and_skips_none(restarts):
    with TopologyTestDriver(ticking(("tick", STREAM, 10, 0))) as driver:
        for timestamp_ms in range(45):
            driver.input_topic("in").pipe("k", "v", timestamp_ms)
            for _ in range(restarts):
                driver.restart()
        assert ticks(driver.output_topic("out").read_all()) == [0, 10, 20, 30, 40]


def test_a_schedule_created_again_by_the_first_record_after_a_restart_skips_no_due_time():
    class Late(Ticking):
        def init(self, context):
            self.context, self.made = context, False

        def process(self, record):
            if not self.made:
                Ticking.init(self, self.context)
                self.made = True

    builder = hr.StreamsBuilder()
    builder.stream("in").process(lambda: Late(("tick", STREAM, 10, 0))).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "v", 28)
        driver.restart()
        driver.input_topic("in").pipe("k", "v", 31)
        assert ticks(driver.output_topic("out").read_all()) == [31]


def test_wall_clock_schedules_count_from_their_creation_without_a_shift_and_from_the_epoch_with_one():
    topology = ticking(("none", WALL, 10, None), ("zero", WALL, 10, 0), ("three", WALL, 10, 3))
    with TopologyTestDriver(topology, wall_clock_ms=1_003) as driver:
        found = {}
        for step in (5, 5, 9, 1, 35, 4, 1):
            driver.advance_wall_clock(ms(step))
            for record in driver.output_topic("out").read_all():
                found.setdefault(record.key, []).append(record.value)
    assert found == {
        "none": [1_013, 1_023, 1_058, 1_063],
        "zero": [1_013, 1_022, 1_058, 1_062],
        "three": [1_008, 1_013, 1_023, 1_058, 1_063],
    }


def test_a_schedule_created_while_a_record_is_processed_fires_right_after_it():
    class Late(Ticking):
        def init(self, context):
            self.context = context

        def process(self, record):
            if record.value == "now":
                Ticking.init(self, self.context)

    builder = hr.StreamsBuilder()
    builder.stream("in").process(lambda: Late(("none", STREAM, 10, None), ("grid", STREAM, 13, 0))).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        for value, timestamp_ms in (("not yet", 20), ("now", 26), ("v", 30), ("v", 36)):
            driver.input_topic("in").pipe("k", value, timestamp_ms)
        found = [(record.key, record.value) for record in driver.output_topic("out").read_all()]
    assert found == [("none", 26), ("grid", 26), ("none", 36)]


def test_stream_time_advances_before_the_record_is_processed_and_survives_a_restart():
    class Telling(hr.Processor):
        def init(self, context):
            super().init(context)
            self.at_start = context.current_stream_time_ms

        def process(self, record):
            self.context.forward(record.with_value([self.at_start, self.context.current_stream_time_ms]))

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Telling).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("k", "v", 12)
        driver.restart()
        driver.input_topic("in").pipe("k", "v", 5)
        assert [record.value for record in driver.output_topic("out").read_all()] == [[-1, 12], [12, 12]]


def test_cancelling_inside_the_callback_and_again_afterwards_stops_the_schedule():
    class Thrice(hr.Processor):
        def init(self, context):
            super().init(context)
            self.left = 3
            self.schedule = context.schedule(ms(10), STREAM, self.tick, time_shift=ms(0))

        def process(self, record):
            pass

        def tick(self, timestamp_ms):
            self.context.forward(hr.Record("tick", timestamp_ms))
            self.left -= 1
            if not self.left:
                self.schedule.cancel()
                self.schedule.cancel()

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Thrice).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        for timestamp_ms in range(60):
            driver.input_topic("in").pipe("k", "v", timestamp_ms)
        assert ticks(driver.output_topic("out").read_all()) == [0, 10, 20]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ms(0), STREAM, print), r"ticker: schedule\(\) was given the interval .*; it must be a timedelta of 1 ms"),
        ((ms(-10), WALL, print), r"ticker: schedule\(\) was given the interval"),
        ((10, STREAM, print), r"ticker: schedule\(\) was given the interval 10"),
        ((ms(10), "stream", print), r"ticker: .*type 'stream'; allowed: .*STREAM_TIME, .*WALL_CLOCK_TIME"),
        ((ms(10), STREAM, None), r"ticker: schedule\(\) needs a function callback\(timestamp_ms\); got None"),
        ((ms(10), STREAM, print, 5), r"ticker: schedule\(\) was given time_shift=5; it must be a timedelta or None"),
    ],
)
def test_invalid_schedules_are_refused(arguments, message):
    class Wrong(hr.Processor):
        def init(self, context):
            context.schedule(*arguments)

        def process(self, record):
            pass

    topology = hr.Topology().add_source("source", "in").add_processor("ticker", Wrong, parents=["source"])
    with pytest.raises(hr.StreamsError, match=message):
        TopologyTestDriver(topology)


def test_the_error_of_a_failing_callback_names_the_node_and_the_time():
    class Failing(Ticking):
        def init(self, context):
            context.schedule(ms(10), STREAM, self.tick)

        def tick(self, timestamp_ms):
            raise ValueError("boom")

    topology = hr.Topology().add_source("source", "in").add_processor("ticker", Failing, parents=["source"])
    with (
        TopologyTestDriver(topology) as driver,
        pytest.raises(hr.ProcessingError, match=r"(?s)ticker failed while punctuating at stream time 26, .*boom.*tick"),
    ):
        driver.input_topic("in").pipe("k", "v", 26)


def test_an_error_in_a_child_during_a_punctuation_names_both_nodes():
    builder = hr.StreamsBuilder()
    stream = builder.stream("in").process(lambda: Ticking(("tick", WALL, 10, None)), name="ticker")
    stream.map_values(lambda value: value / 0, name="broken").to("out")
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(hr.ProcessingError, match=r"ticker failed while punctuating at wall-clock time 10, in broken"),
    ):
        driver.advance_wall_clock(ms(10))
