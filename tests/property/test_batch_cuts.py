"""Output topics do not depend on how the input is cut into batches, nor on batches that are lost and repeated."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner
from tests.support.topologies import word_letters

WORDS = st.sampled_from(["ant", "ape", "bee", "cat", "cow", "dog", "deer"])
LINES = st.lists(WORDS, max_size=4).map(" ".join)
RECORDS = st.lists(
    st.tuples(st.sampled_from("kmnopq"), LINES, st.integers(0, 50), st.integers(0, 3)), min_size=1, max_size=40
)
CUTS = st.lists(st.tuples(st.integers(1, 15), st.sampled_from([None, None, "before", "after", "restart"])), max_size=12)


def fill(directory, records):
    topics = hr.LocalTopics(directory / "topics")
    topics.create("lines", partitions=4)
    topics.produce(
        "lines",
        [hr.Record(key, line, timestamp_ms, partition=partition) for key, line, timestamp_ms, partition in records],
        value_serde=serdes.String(),
    )


def run(records, cuts, spark_partitions):
    with TemporaryDirectory() as name:
        directory = Path(name)
        fill(directory, records)
        runner = PlanRunner(word_letters(), directory, spark_partitions=spark_partitions)
        for limit, event in cuts:
            if event in ("before", "after"):
                runner.run_batch(limit, fail=event)
            elif event == "restart":
                runner.restart()
            if not runner.run_batch(limit):
                break
        while runner.run_batch(1_000):
            pass
        return runner.outputs()


@settings(max_examples=examples(40))
@given(records=RECORDS, cuts=CUTS, spark_partitions=st.integers(1, 3))
def test_cuts_failures_and_restarts_do_not_change_any_output_topic(records, cuts, spark_partitions):
    assert run(records, cuts, spark_partitions) == run(records, [], 2)
