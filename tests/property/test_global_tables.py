"""Output topics of a stream with a global table do not depend on cuts, failures and restarts."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace.testing import TopologyTestDriver
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner

KEYS = "abcde"
ROWS = st.lists(
    st.tuples(st.sampled_from(KEYS), st.none() | st.integers(0, 9), st.integers(0, 50), st.integers(0, 2)), max_size=20
)
RECORDS = st.lists(
    st.tuples(st.sampled_from("kmn"), st.sampled_from(KEYS), st.integers(0, 50), st.integers(0, 3)), max_size=25
)
CUTS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, None, "before", "after", "restart"])), max_size=12)


def topology():
    """Reads the table in two stages and in two sub-topologies; the operators after a join show the order of records."""
    builder = hr.StreamsBuilder()
    table = builder.global_table("rows", store="rows")
    pairs = builder.stream("in").left_join(table, lambda value, row: [value, row], key_selector=lambda _, value: value)
    pairs.to("pairs")
    (
        pairs.select_key(lambda key, pair: pair[0])
        .repartition("by-row", partitions=3)
        .left_join(table, lambda pair, row: [*pair, row])
        .group_by_key()
        .aggregate(list, lambda key, value, seen: [*seen, value])
        .to_stream()
        .to("seen")
    )
    other = builder.stream("other")
    other.join(table, lambda value, row: [value, row], key_selector=lambda _, value: value).to("others")
    return builder.build()


def fill(directory, rows, records):
    topics = hr.LocalTopics(directory / "topics")
    for topic, partitions, listed in (("rows", 3, rows), ("in", 4, records), ("other", 2, [])):
        topics.create(topic, partitions=partitions)
        produced = [hr.Record(*record[:3], partition=record[3]) for record in listed]
        topics.produce(topic, produced)
    topics.produce("other", [hr.Record(*record[:3], partition=record[3] % 2) for record in records[::3]])


def run(rows, records, cuts, spark_partitions=2):
    with TemporaryDirectory() as name:
        directory = Path(name)
        fill(directory, rows, records)
        runner = PlanRunner(topology(), directory, spark_partitions=spark_partitions)
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
@given(rows=ROWS, records=RECORDS, cuts=CUTS, spark_partitions=st.integers(1, 3))
def test_cuts_failures_and_restarts_do_not_change_any_output_topic(rows, records, cuts, spark_partitions):
    assert run(rows, records, cuts, spark_partitions) == run(rows, records, [])


@settings(max_examples=examples(25))
@given(rows=ROWS, records=RECORDS, cuts=CUTS)
def test_driver_and_plan_write_the_same_records_when_the_table_comes_first(rows, records, cuts):
    rows, records = ([(*record[:3], 0) for record in listed] for listed in (rows, records))
    with TopologyTestDriver(topology()) as driver:
        for topic, listed in (("rows", rows), ("in", records), ("other", records[::3])):
            for record in listed:
                driver.input_topic(topic).pipe(*record[:3])
        expected = {
            topic: sorted((m.key, m.value, m.timestamp_ms) for m in driver._runtime.outputs.get(topic, []))
            for topic in ("pairs", "seen", "others")
        }
    found = run(rows, records, cuts)
    assert {topic: sorted(row for rows in found[topic].values() for row in rows) for topic in expected} == expected


class Holding(hr.Processor):
    """Keeps the table in a field, which is pickled with the task from batch to batch."""

    def init(self, context):
        super().init(context)
        self.rows = context.state_store("rows")

    def process(self, record):
        self.context.forward(record.with_value(self.rows.get(record.value)))


def test_a_processor_that_keeps_the_table_in_a_field_sees_new_rows(tmp_path):
    builder = hr.StreamsBuilder()
    builder.global_table("rows", store="rows")
    builder.stream("in").process(Holding, stores=["rows"]).to("out")
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("rows", partitions=3)
    topics.create("in", partitions=2)
    runner = PlanRunner(builder.build(), tmp_path)
    for number in range(3):
        topics.produce("in", [hr.Record("k", "a", number), hr.Record("k", "b", number)])
        if number != 1:
            topics.produce("rows", [hr.Record("ab"[number // 2], number, 10 + number)])
        while runner.run_batch(2):
            pass
    written = [row[1] for rows in runner.output("out").values() for row in rows]
    assert written == [b"[0,10]", None, b"[0,10]", None, b"[0,10]", b"[2,12]"]
