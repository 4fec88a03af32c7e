"""Timestamps under the processor's control (KIP-251).

A forwarded record has the timestamp of `To`, else its own, else the current one: that of the record being processed, or
the time that fired the punctuation. Children and topics see it; it applies to one forward only. `To.child` names one
child, `To.all` means all, in the order they were added. Unknown children and negative timestamps are refused.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, To
from headrace.testing import TopologyTestDriver


class Saying(hr.Processor):
    """Calls a function to forward records."""

    def __init__(self, say):
        self._say = say

    def process(self, record):
        self._say(self.context, record)


class Seeing(hr.Processor):
    """Forwards what a child sees as the value."""

    def process(self, record):
        place = self.context.record_metadata
        seen = [record.value, record.timestamp_ms, place.topic, place.partition, place.offset]
        self.context.forward(record.with_value(seen))


def two_children(say):
    return (
        hr.Topology()
        .add_source("source", "in")
        .add_processor("saying", lambda: Saying(say), parents=["source"])
        .add_processor("c1", Seeing, parents=["saying"])
        .add_processor("c2", Seeing, parents=["saying"])
        .add_sink("o1", "out1", parents=["c1"])
        .add_sink("o2", "out2", parents=["c2"])
        .add_sink("plain", "plain", parents=["saying"])
    )


def seen(value, timestamp_ms, offset=0):
    return Record("k", [value, timestamp_ms, "in", 0, offset], timestamp_ms)


def test_without_a_timestamp_all_children_get_the_timestamp_of_the_input_record(runtime):
    topology = two_children(lambda context, record: context.forward(Record(record.key, "v")))
    outputs, _ = runtime.run(topology, [("in", "k", "x", 10)])
    assert outputs == {"out1": [seen("v", 10)], "out2": [seen("v", 10)], "plain": [Record("k", "v", 10)]}


def test_a_timestamp_can_be_set_for_all_children(runtime):
    topology = two_children(lambda context, record: context.forward(record, to=To.all().with_timestamp(77)))
    outputs, _ = runtime.run(topology, [("in", "k", "x", 10)])
    assert outputs == {"out1": [seen("x", 77)], "out2": [seen("x", 77)], "plain": [Record("k", "x", 77)]}


def test_a_record_is_forwarded_to_one_named_child_a_processor_or_a_sink(runtime):
    def say(context, record):
        context.forward(record, to=To.child("c2").with_timestamp(5))
        context.forward(record, to=To.child("plain").with_timestamp(6))
        context.forward(record.with_timestamp(7), to=To.child("plain"))

    outputs, _ = runtime.run(two_children(say), [("in", "k", "x", 10)])
    assert outputs == {"out1": [], "out2": [seen("x", 5)], "plain": [Record("k", "x", 6), Record("k", "x", 7)]}


def test_timestamp_does_not_leak_into_the_next_forward_or_the_next_record(runtime):
    def say(context, record):
        context.forward(Record("k", "given"), to=To.all().with_timestamp(99))
        context.forward(Record("k", "plain"))

    outputs, _ = runtime.run(two_children(say), [("in", "k", "x", 10), ("in", "k", "y", 8)])
    assert outputs["out1"] == [seen("given", 99), seen("plain", 10), seen("given", 99, 1), seen("plain", 8, 1)]
    assert outputs["plain"] == [
        Record("k", value, timestamp_ms)
        for value, timestamp_ms in (("given", 99), ("plain", 10), ("given", 99), ("plain", 8))
    ]


def test_the_timestamp_of_to_overrides_the_records_own(runtime):
    topology = two_children(lambda context, record: context.forward(Record("k", 1, 55), to=To.all().with_timestamp(0)))
    outputs, _ = runtime.run(topology, [("in", "k", "x", 10)])
    assert outputs["plain"] == [Record("k", 1, 0)]


def test_records_are_forwarded_to_children_depth_first_in_the_order_they_were_added(runtime):
    """Both children write to one topic: the whole subtree of the first is processed before the second."""

    def say(context, record):
        context.forward(record.with_value(f"{record.value}1"))
        context.forward(record.with_value(f"{record.value}2"))

    topology = (
        hr.Topology()
        .add_source("source", "in")
        .add_processor("a", lambda: Saying(say), parents=["source"])
        .add_processor("b", lambda: Saying(say), parents=["a"])
        .add_processor("c", lambda: Saying(lambda context, record: context.forward(record)), parents=["a"])
        .add_sink("sink", "out", parents=["b", "c"])
    )
    outputs, _ = runtime.run(topology, [("in", "k", "x", 10)])
    assert [record.value for record in outputs["out"]] == ["x11", "x12", "x1", "x21", "x22", "x2"]


def test_forwarded_timestamps_do_not_advance_stream_time(runtime):
    def say(context, record):
        context.forward(record, to=To.child("plain").with_timestamp(1_000))
        context.forward(record.with_value(context.current_stream_time_ms), to=To.child("plain"))

    outputs, _ = runtime.run(two_children(say), [("in", "k", "x", 10), ("in", "k", "y", 7)])
    assert [record.value for record in outputs["plain"]] == ["x", 10, "y", 10]


def test_a_child_sees_the_headers_of_the_forwarded_record(runtime):
    def say(context, record):
        context.forward(record.with_value("kept"), to=To.child("plain"))
        context.forward(Record(record.key, "new"), to=To.child("plain"))

    outputs, _ = runtime.run(two_children(say), [("in", "k", "x", 10, (("h", b"1"),))])
    assert outputs["plain"] == [Record("k", "kept", 10, (("h", b"1"),)), Record("k", "new", 10)]


def test_in_a_punctuation_the_current_time_is_the_one_that_fired_it_and_there_is_no_topic(runtime):
    class Ticking(hr.Processor):
        def init(self, context):
            super().init(context)
            context.schedule(timedelta(milliseconds=10), hr.PunctuationType.STREAM_TIME, self.tick)

        def process(self, record):
            pass

        def tick(self, timestamp_ms):
            self.context.forward(Record("k", "tick"))
            self.context.forward(Record("k", "tock"), to=To.all().with_timestamp(3))

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Ticking).process(Seeing).to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "k", "x", 12)])
    assert outputs["out"] == [
        Record("k", ["tick", 12, None, -1, -1], 12),
        Record("k", ["tock", 3, None, -1, -1], 3),
    ]


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        (-1, "0 or greater"),
        (2**63, "at most 9223372036854775807"),
        (None, "a whole number of milliseconds"),
        ("7", "a whole number of milliseconds"),
    ],
)
def test_timestamp_that_no_record_can_have_is_refused(given, allowed):
    with pytest.raises(hr.StreamsError, match=rf"To\.with_timestamp\(\) was given .*; a timestamp is {allowed}"):
        To.child("c1").with_timestamp(given)


def test_an_invalid_forward_names_the_node_and_its_children():
    def say(context, record):
        if record.value == "nobody":
            context.forward(record, to=To.child("c3"))
        context.forward(record, to=To.all().with_timestamp(int(record.value)))

    with TopologyTestDriver(two_children(say)) as driver:
        with pytest.raises(hr.StreamsError, match=r"saying: the child 'c3' is unknown.*children: 'c1', 'c2', 'plain'"):
            driver.input_topic("in").pipe("k", "nobody", 1)
        with pytest.raises(hr.StreamsError, match=r"saying failed on record in-0@1 .* was given -1"):
            driver.input_topic("in").pipe("k", "-1", 1)
        assert driver.output_topic("plain").read_all() == []


def test_to_objects_are_compared_by_value():
    assert To.child("a") == To.child("a")
    assert len({To.all(), To.all().with_timestamp(1), To.all()}) == 2
