"""With several partitions, the test driver writes the same records to the same partitions as the plan that Spark runs.

The driver gets the records in the one order, in which Spark processes them however they were produced.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace._core.partitioning import partition_for
from headrace.testing import TopologyTestDriver
from tests.property.test_batch_cuts import LINES
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner
from tests.support.topologies import boundaries, busy, sales_by_region, word_letters

KEYS = "abcdefgh"


def windows_and_joins():
    """Windows, sessions, final results, and joins whose sides different stages write to the same repartition."""
    builder = hr.StreamsBuilder()
    stream, table = builder.stream("in"), builder.table("rows")
    ten = hr.TimeWindows.of(timedelta(milliseconds=10), grace=timedelta(milliseconds=5))
    by_value = stream.group_by(lambda key, value: f"{value % 4}")
    by_value.windowed_by(ten).count(store="windows").to_stream().to("windows")
    final = by_value.windowed_by(ten).count().suppress(hr.Suppressed.until_window_closes())
    final.to_stream().to("final")
    sessions = by_value.windowed_by(hr.SessionWindows.of(timedelta(milliseconds=5))).count()
    sessions.to_stream().to("sessions")
    counts = by_value.count(store="counts").to_stream()
    merged = counts.merge(stream).map(lambda key, value: (f"{value}", value))
    by_number = merged.repartition("by-number", partitions=3)
    by_number.group_by_key().aggregate(list, lambda key, value, seen: [*seen[-2:], value]).to_stream().to("numbers")
    stream.left_join(table, lambda value, row: [value, row]).to("joined")
    return builder.build()


def lines(key, number, line):
    return line


def numbers(key, number, line):
    return number


def sales(key, number, line):
    return {"customer": f"{number}", "amount": len(line)}


def customers(key, number, line):
    return None if number == 9 else {"region": f"{number % 3}"}


# Topologies, and for each of their input topics a function that makes a value.
CASES = {
    "words": (word_letters, {"lines": lines}),
    "task ids": (boundaries, {"in": numbers}),
    "processors": (busy, {"in": numbers}),
    "foreign keys": (sales_by_region, {"customers": customers, "regions": lines, "sales": sales}),
    "windows": (windows_and_joins, {"in": numbers, "rows": numbers}),
}
SEEDS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(KEYS), st.integers(0, 9), LINES, st.integers(0, 60)), max_size=30
)


def in_the_one_order(records):
    """Sorts (topic, partition, timestamp, ...) by the highest timestamp of the partition so far, place and offset."""
    heads, offsets, placed = defaultdict(lambda: -1), defaultdict(int), []
    for record in records:
        place = record[0], record[1]
        heads[place] = max(heads[place], record[2])
        placed.append(((heads[place], *place, offsets[place]), record))
        offsets[place] += 1
    return [record for _, record in sorted(placed, key=lambda pair: pair[0])]


@pytest.mark.parametrize("case", CASES)
def test_driver_and_plan_write_the_same_records_to_the_same_partitions(case):
    build, makers = CASES[case]
    topology, topics = build(), sorted(makers)

    @settings(max_examples=examples(40))
    @given(seeds=SEEDS, partitions=st.integers(1, 4), limit=st.integers(1, 30), data=st.data())
    def check(seeds, partitions, limit, data):
        records = []
        for which, key, number, line, timestamp_ms in seeds:
            topic = topics[which % len(topics)]
            partition = data.draw(st.integers(0, partitions - 1)) if len(topics) == 1 else None
            records.append((topic, partition, timestamp_ms, key, makers[topic](key, number, line)))
        found = on_plan(topology, topics, records, partitions, limit)
        assert on_driver(topology, records, partitions) == found

    check()


def on_plan(topology, topics, records, partitions, limit):
    """The output by topic and partition; a record without a partition goes to that of its key."""
    with TemporaryDirectory() as name:
        local = hr.LocalTopics(Path(name) / "topics")
        for topic in topics:
            local.create(topic, partitions=partitions)
        for topic, partition, timestamp_ms, key, value in records:
            serde = serdes.String() if topic == "lines" else serdes.Json()
            local.produce(topic, [hr.Record(key, value, timestamp_ms, partition=partition)], value_serde=serde)
        runner = PlanRunner(topology, Path(name))
        runner.run_batch(1, tick=True)
        while runner.run_batch(limit):
            pass
        return {
            topic: {partition: rows for partition, rows in by_partition.items() if rows}
            for topic, by_partition in runner.outputs().items()
        }


def on_driver(topology, records, partitions):
    placed = [
        (topic, partition_for(key.encode(), partitions) if partition is None else partition, timestamp_ms, key, value)
        for topic, partition, timestamp_ms, key, value in records
    ]
    with TopologyTestDriver(topology, partitions=partitions) as driver:
        for topic, partition, timestamp_ms, key, value in in_the_one_order(placed):
            driver.input_topic(topic).pipe(key, value, timestamp_ms, partition=partition)
        found = {topic: defaultdict(list) for topic in topology._graph.sink_topics}
        for topic in found:
            for record in driver.output_topic(topic, serdes.Bytes(), serdes.Bytes()):
                found[topic][record.partition].append((record.key, record.value, record.timestamp_ms))
    return found
