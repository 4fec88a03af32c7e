"""A closed driver refuses every call, also those of its topics and stores."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace.testing import TopologyTestDriver


def test_a_closed_driver_refuses_every_call():
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        topic, out, counts = driver.input_topic("in"), driver.output_topic("out"), driver.store("counts")
        topic.pipe("a", 1, 10)
    calls = [
        lambda: topic.pipe("a", 1),
        lambda: topic.pipe_values([1]),
        lambda: topic.pipe_records([hr.Record("a", 1)]),
        lambda: topic.advance_time(timedelta(1)),
        out.read_record,
        out.read_all,
        out.read_key_values_as_dict,
        out.is_empty,
        lambda: list(out),
        lambda: counts.get("a"),
        lambda: list(counts.all()),
        lambda: counts.put("a", 1, 2),
        lambda: driver.input_topic("in"),
        lambda: driver.output_topic("out"),
        lambda: driver.store("counts"),
        driver.stores,
        driver.produced_topics,
        driver.explain_pending,
        lambda: driver.advance_wall_clock(timedelta(1)),
        driver.restart,
        driver.metrics,
        driver.__enter__,
    ]
    for call in calls:
        with pytest.raises(hr.StreamsError, match="This TopologyTestDriver is closed"):
            call()


def test_closing_again_does_nothing_and_closes_processors_once():
    closed = []

    class Closing(hr.Processor):
        def process(self, record):
            self.context.forward(record)

        def close(self):
            closed.append(self)

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Closing).to("out")
    driver = TopologyTestDriver(builder.build())
    driver.close()
    driver.close()
    assert len(closed) == 1
