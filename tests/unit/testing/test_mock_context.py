"""A processor tested on its own, with a context that records what it does."""

from __future__ import annotations

import inspect
from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import CapturedForward, CapturedPunctuator, MockProcessorContext

SECOND = timedelta(seconds=1)
TOTALS = hr.Stores.key_value("totals", value_serde=serdes.Long())


class Totals(hr.Processor):
    """Adds up values, forwards the sums by two schedules, of which the first value 0 cancels one."""

    def init(self, context):
        super().init(context)
        self.totals = context.state_store(TOTALS)
        context.schedule(SECOND, hr.PunctuationType.STREAM_TIME, self.report)
        self.audit = context.schedule(5 * SECOND, hr.PunctuationType.WALL_CLOCK_TIME, self.report, SECOND)

    def process(self, record):
        if record.value == 0:
            self.audit.cancel()
        self.totals.put(record.key, (self.totals.get(record.key) or 0) + record.value)
        self.context.forward(hr.Record(record.key, self.context.record_metadata.offset), hr.To.child("offsets"))
        self.context.forward(record, hr.To.child("records").with_timestamp(99))
        self.context.forward(record.with_value(self.context.current_stream_time_ms))
        self.context.commit()

    def report(self, timestamp_ms):
        for key, total in self.totals.all():
            self.context.forward(hr.Record(key, [total, timestamp_ms, self.context.record_metadata.offset]))


@pytest.fixture
def context():
    return MockProcessorContext(stores=[TOTALS])


@pytest.fixture
def processor(context):
    processor = Totals()
    processor.init(context)
    return processor


def test_forwards_are_captured_with_child_and_timestamp(context, processor):
    context.record_metadata = hr.RecordMetadata("in", 0, 7)
    context.current_stream_time_ms = 20
    context.timestamp_ms = 12
    processor.process(hr.Record("a", 3, 12, (("h", b"1"),)))
    headers = (("h", b"1"),)
    assert context.forwarded() == [
        CapturedForward(hr.Record("a", 7, 12), "offsets"),
        CapturedForward(hr.Record("a", 3, 99, headers), "records"),
        CapturedForward(hr.Record("a", 20, 12, headers)),
    ]
    assert [forward.record.value for forward in context.forwarded("offsets")] == [7, 20]
    context.reset_forwards()
    assert context.forwarded() == []


def test_without_a_current_timestamp_a_record_keeps_none(context):
    context.forward(hr.Record("a", 1))
    assert context.forwarded()[0].record.timestamp_ms is None


def test_the_test_fires_schedules(context, processor):
    context.state_store(TOTALS).put("a", 5)
    context.record_metadata, context.timestamp_ms = hr.RecordMetadata("in", 0, 7), 3
    by_stream_time, by_wall_clock = context.scheduled_punctuators()
    assert (by_stream_time.interval, by_stream_time.type) == (SECOND, hr.PunctuationType.STREAM_TIME)
    assert (by_wall_clock.interval, by_wall_clock.time_shift) == (5 * SECOND, SECOND)
    by_stream_time.punctuate(1_000)
    context.current_system_time_ms = 6_000
    by_wall_clock.punctuate()
    records = [forward.record for forward in context.forwarded()]
    assert records == [hr.Record("a", [5, 1_000, -1], 1_000), hr.Record("a", [5, 6_000, -1], 6_000)]
    assert (context.record_metadata.offset, context.timestamp_ms) == (7, 3)
    with pytest.raises(hr.StreamsError, match=r"set MockProcessorContext.current_stream_time_ms first"):
        by_stream_time.punctuate()


def test_a_captured_schedule_takes_the_arguments_of_schedule():
    parameters = list(inspect.signature(MockProcessorContext.schedule).parameters)[1:]
    captured = inspect.signature(CapturedPunctuator).parameters.values()
    assert [each.name for each in captured if each.kind is not each.KEYWORD_ONLY] == parameters
    assert [each.name for each in captured if each.kind is each.KEYWORD_ONLY] == ["_context"]


def test_a_cancelled_schedule_does_not_fire(context, processor):
    processor.process(hr.Record("a", 0, 1))
    by_stream_time, by_wall_clock = context.scheduled_punctuators()
    assert (by_stream_time.cancelled, by_wall_clock.cancelled) == (False, True)
    with pytest.raises(hr.StreamsError, match="because it was cancelled"):
        by_wall_clock.punctuate(5)


def test_commits_are_counted(context, processor):
    for value in (1, 2):
        processor.process(hr.Record("a", value, 1))
    assert context.commit_count == 2
    context.reset_commit()
    assert context.commit_count == 0


def test_ids_and_default_serdes_come_from_the_arguments():
    config = hr.StreamsConfig(application_id="mine", default_value_serde=serdes.Long())
    context = MockProcessorContext(config, task_id="1_2")
    assert (context.application_id, context.task_id) == ("mine", "1_2")
    context.add_state_store(hr.Stores.key_value("numbers"))
    with pytest.raises(hr.SerdeError):
        context.state_store("numbers").put("a", "text")


def test_a_processor_that_keeps_the_key_is_tested_alike(context):
    class Doubling(hr.FixedKeyProcessor):
        def process(self, record):
            self.context.forward(record.with_value(record.value * 2))

    processor = Doubling()
    processor.init(context)
    processor.process(hr.Record("a", 4, 12))
    assert context.forwarded() == [CapturedForward(hr.Record("a", 8, 12))]


def test_misuse_is_refused_as_in_a_topology(context):
    with pytest.raises(hr.StateError, match=r"has no store 'total'. Did you mean 'totals'"):
        context.state_store("total")
    with pytest.raises(hr.StreamsError, match=r"forward\(\) needs a Record; got 'a'"):
        context.forward("a")
    with pytest.raises(hr.StreamsError, match=r"forward\(\) was given to='child'"):
        context.forward(hr.Record("a", 1), to="child")
    with pytest.raises(hr.StreamsError, match="timedelta of 1 ms or more"):
        context.schedule(5, hr.PunctuationType.STREAM_TIME, print)


def test_a_mock_has_the_settings_and_metrics_of_a_processor():
    config = hr.StreamsConfig(application_id="shop", app_configs={"shop.currency": "CHF"}, state_dir="state")
    context = MockProcessorContext(config)
    context.metrics.counter("seen").add(2)
    context.metrics.counter("seen").add()
    context.metrics.gauge("open").set(7)
    assert context.metric_values() == {"seen": 3, "open": 7}
    assert context.app_configs_with_prefix("shop.") == {"currency": "CHF"}
    assert (context.state_dir.name, type(context.key_serde), type(context.value_serde)) == (
        "state",
        serdes.String,
        serdes.Json,
    )
