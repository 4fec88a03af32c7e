"""The test driver and the plan that Spark runs give the same output topics."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver
from tests.property.test_batch_cuts import LINES
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner
from tests.support.topologies import word_letters

RECORDS = st.lists(st.tuples(st.sampled_from("kmn"), LINES, st.integers(0, 50)), min_size=1, max_size=25)


@settings(max_examples=examples(30))
@given(records=RECORDS, limit=st.integers(1, 30))
def test_driver_and_plan_write_the_same_records(records, limit):
    topology = word_letters()
    with TopologyTestDriver(topology) as driver:
        for record in records:
            driver.input_topic("lines").pipe(*record)
        expected = {topic: driver._runtime.outputs.get(topic, []) for topic in topology._graph.sink_topics}
    with TemporaryDirectory() as name:
        topics = hr.LocalTopics(Path(name) / "topics")
        topics.create("lines", partitions=1)
        topics.produce("lines", [hr.Record(*record) for record in records], value_serde=serdes.String())
        runner = PlanRunner(topology, Path(name))
        while runner.run_batch(limit):
            pass
        found = runner.outputs()
    for topic, messages in expected.items():
        by_key = sorted((m.key, m.value, m.timestamp_ms) for m in messages)
        assert sorted(row for rows in found[topic].values() for row in rows) == by_key
    assert found["word-counts"][0] == [(m.key, m.value, m.timestamp_ms) for m in expected["word-counts"]]
