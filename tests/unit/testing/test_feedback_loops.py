"""A topology that writes to a topic it reads: the driver runs a loop that ends, and refuses one that does not."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace.testing import TopologyTestDriver


def test_a_loop_that_ends_runs_to_its_end():
    builder = hr.StreamsBuilder()
    builder.stream("numbers").filter(lambda key, n: n > 0).map_values(lambda n: n - 1).to("numbers")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("numbers").pipe("a", 3, timestamp_ms=5)
        driver.input_topic("numbers").pipe("b", 1, timestamp_ms=6)
        assert driver.output_topic("numbers").read_all() == [
            hr.Record("a", 2, 5),
            hr.Record("a", 1, 5),
            hr.Record("a", 0, 5),
            hr.Record("b", 0, 6),
        ]


def test_a_loop_without_end_is_an_error_that_names_topic_and_sink():
    builder = hr.StreamsBuilder()
    builder.stream("orders").flat_map_values(lambda order: [order] * 1_000).to("orders", name="again")
    with TopologyTestDriver(builder.build()) as driver:
        with pytest.raises(hr.StreamsError) as raised:
            driver.input_topic("orders").pipe("a", 1, timestamp_ms=5)
        assert str(raised.value) == (
            "One record piped into 'orders' led to more than 100,000 records that the topology reads again: sink "
            "'again' writes to topic 'orders', which the topology also reads. Let the loop end, e.g. with a filter "
            "before the sink, or write to another topic."
        )
        assert driver.output_topic("orders").read_all() == [hr.Record("a", 1, 5)] * 101_000


def test_the_error_names_a_sink_whose_topic_a_function_chooses():
    builder = hr.StreamsBuilder()
    copies = builder.stream("in").merge(builder.stream("again")).flat_map_values(lambda value: [value] * 1_000)
    copies.to(lambda key, value, context: "again", name="chosen")
    with (
        TopologyTestDriver(builder.build()) as driver,
        pytest.raises(hr.StreamsError, match=r"piped into 'in' .* sink 'chosen' writes to topic 'again'"),
    ):
        driver.input_topic("in").pipe("a", 1)


def test_each_record_of_a_punctuation_may_start_a_loop():
    class Restart(hr.Processor):
        def init(self, context):
            super().init(context)
            context.schedule(timedelta(seconds=1), hr.PunctuationType.WALL_CLOCK_TIME, self.restart)

        def restart(self, timestamp_ms):
            self.context.forward(hr.Record("tick", 2))

        def process(self, record):
            if record.value > 0:
                self.context.forward(record.with_value(record.value - 1))

    builder = hr.StreamsBuilder()
    builder.stream("numbers").process(Restart).to("numbers")
    with TopologyTestDriver(builder.build()) as driver:
        driver.advance_wall_clock(timedelta(seconds=1))
        assert driver.output_topic("numbers").read_all() == [
            hr.Record("tick", 2, 1_000),
            hr.Record("tick", 1, 1_000),
            hr.Record("tick", 0, 1_000),
        ]
