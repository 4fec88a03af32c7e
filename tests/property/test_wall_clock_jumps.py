"""A wall clock that jumps ahead once and comes back: punctuation goes on, also after a restart."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes
from tests.support.plan_runner import PlanRunner

HOUR = 3_600_000


class Ticks(hr.Processor):
    def __init__(self, shift):
        self.shift = shift

    def init(self, context):
        self.context = context
        interval = timedelta(seconds=10)
        context.schedule(interval, hr.PunctuationType.WALL_CLOCK_TIME, self.tick, time_shift=self.shift)

    def process(self, record):
        pass

    def tick(self, timestamp_ms):
        self.context.forward(hr.Record("tick", "", timestamp_ms))


def ticking(shift):
    builder = hr.StreamsBuilder()
    ticks = builder.stream("in", value_serde=serdes.String()).process(lambda: Ticks(shift), name="ticks")
    ticks.to("out", key_serde=serdes.String(), value_serde=serdes.String())
    return builder.build()


@pytest.mark.parametrize("restart", [False, True], ids=["at once", "after a restart"])
@pytest.mark.parametrize("shift", [None, timedelta(0)], ids=["no shift", "shift 0"])
def test_punctuation_goes_on_after_the_clock_was_an_hour_ahead(tmp_path, shift, restart):
    hr.LocalTopics(tmp_path / "topics").create("in", partitions=1)
    runner = PlanRunner(ticking(shift), tmp_path)

    def run_at(*seconds):
        for second in seconds:
            runner.clock_ms = 1000 * second
            runner.run_batch(10, tick=True)

    run_at(1_000, 1_010, 1_010 + 3_600)
    if restart:
        runner.run = "second run"
        runner.restart()
    run_at(*range(1_011, 1_045))
    ticks = [timestamp_ms // 1000 for _, _, timestamp_ms in runner.output("out")[0]]
    before = [1_000, 1_010, 4_610] if shift is not None else [1_010, 4_610]
    assert ticks == [*before, *([1_020, 1_030, 1_040] if shift is not None else [1_021, 1_031, 1_041])]


def test_keys_become_idle_after_the_clock_was_an_hour_ahead(tmp_path):
    builder = hr.StreamsBuilder()
    windows = hr.TimeWindows.of(timedelta(milliseconds=10))
    windowed = builder.stream("in", value_serde=serdes.String()).group_by_key().windowed_by(windows)
    windowed.emit_strategy(hr.EmitStrategy.on_window_close()).count(store="counts").to_stream().to("out")
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=1)
    topics.produce("in", [hr.Record("k", "v", 3)], value_serde=serdes.String())
    settings = {"allow_stream_time_key_tracking": True, "stream_time_key_idle": timedelta(seconds=50)}
    runner = PlanRunner(builder.build(), tmp_path, config=hr.StreamsConfig(application_id="test", **settings))
    found = {}
    for second in (4_600, 1_000, 1_049, 1_050):
        runner.clock_ms = 1000 * second
        runner.run_batch(10, tick=True)
        found[second] = len(runner.output("out")[0])
    assert found == {4_600: 0, 1_000: 0, 1_049: 0, 1_050: 1}
