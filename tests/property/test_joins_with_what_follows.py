"""Joins of a stream with a table derived from it equal those of the driver on Spark's plan, however input is cut."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace.testing import TopologyTestDriver
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner

RECORDS = st.lists(
    st.tuples(st.sampled_from("abc"), st.none() | st.text("xyz", max_size=3), st.integers(0, 60)),
    min_size=1,
    max_size=25,
)


def pair(left, right):
    return [left, right]


def with_its_rows(stream):
    return stream.join(stream.to_table(), pair)


def with_its_count(stream):
    return stream.left_join(stream.group_by_key().count(), pair)


def with_its_count_by_value(stream):
    by_value = stream.map(lambda key, value: (value or "none", key))
    return by_value.left_join(stream.group_by(lambda key, value: value).count(), pair)


def with_its_rows_and_its_count_behind_a_repartition(stream):
    letters = stream.flat_map_values(lambda value: list(value or ""))
    counts = letters.select_key(lambda key, value: key).group_by_key().count()
    return letters.map_values(str.upper).left_join(letters.to_table().left_join(counts, pair), pair)


def final_counts_with_rows(stream):
    windows = hr.TimeWindows.of(timedelta(milliseconds=10), grace=timedelta(milliseconds=3))
    counts = stream.group_by_key().windowed_by(windows).count()
    final = counts.suppress(hr.Suppressed.until_window_closes()).to_stream().select_key(lambda key, _: key.key)
    return final.left_join(stream.to_table(), pair)


def changes_with_rows(stream):
    table = stream.to_table()
    return table.to_stream().map(lambda key, value: (key, value)).left_join(table, pair)


TOPOLOGIES = [
    with_its_rows,
    with_its_count,
    with_its_count_by_value,
    with_its_rows_and_its_count_behind_a_repartition,
    final_counts_with_rows,
    changes_with_rows,
]


def on_plan(topology, records, cuts, partitions):
    with TemporaryDirectory() as name:
        topics = hr.LocalTopics(Path(name) / "topics")
        topics.create("in", partitions=partitions)
        topics.produce("in", [hr.Record(*record) for record in records])
        runner = PlanRunner(topology, Path(name))
        for limit in cuts:
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        return runner.output("out")


@pytest.mark.parametrize("join", TOPOLOGIES)
def test_plan_and_driver_write_the_same_records_however_the_input_is_cut(join):
    builder = hr.StreamsBuilder()
    join(builder.stream("in")).to("out")
    topology = builder.build()

    @settings(max_examples=examples(25))
    @given(records=RECORDS, cuts=st.lists(st.integers(1, 9), max_size=6))
    def check(records, cuts):
        with TopologyTestDriver(topology) as driver:
            for record in records:
                driver.input_topic("in").pipe(*record)
            expected = driver._runtime.outputs.get("out", [])
        written = on_plan(topology, records, cuts, 1)
        assert written.get(0, []) == [(message.key, message.value, message.timestamp_ms) for message in expected]
        assert on_plan(topology, records, cuts, 3) == on_plan(topology, records, [], 3)

    check()
