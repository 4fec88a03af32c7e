"""An aggregate of a grouped table always equals a recomputation from the current rows, whatever updates led to them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner

ROWS = st.lists(
    st.tuples(
        st.sampled_from("abcde"),
        st.none() | st.tuples(st.sampled_from(["g", "h", "i", None]), st.sampled_from(["x", "y", "z", None])),
        st.integers(0, 30),
    ),
    max_size=40,
)


def topology():
    """For each group, the sorted values of its rows with their keys: any lost, repeated or reordered update shows."""
    builder = hr.StreamsBuilder()
    rows = builder.table("in").group_by(
        lambda key, row: (row[0], None if row[1] is None else f"{row[1]} of {key}"), key_serde=serdes.String()
    )
    rows.aggregate(
        set,
        lambda _, value, members: members | {value},
        lambda _, value, members: members - {value},
        store="members",
        value_serde=serdes.Json(set[str]),
    ).to_stream().to("out")
    rows.count(store="sizes").to_stream().to("sizes")
    return builder.build()


def recomputed(rows):
    members = {}
    for key, (group, value) in rows.items():
        if group is not None and value is not None:
            members.setdefault(group, set()).add(f"{value} of {key}")
    return members


@settings(max_examples=examples(150))
@given(updates=ROWS, restart_after=st.sets(st.integers(0, 40), max_size=3))
def test_a_set_and_a_count_equal_the_recomputation_after_every_update(updates, restart_after):
    rows = {}
    with TopologyTestDriver(topology()) as driver:
        for number, (key, row, timestamp_ms) in enumerate(updates):
            if number in restart_after:
                driver.restart()
            driver.input_topic("in").pipe(key, row, timestamp_ms)
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
            current = recomputed(rows)
            assert {group: members for group, members in driver.store("members").all() if members} == current
            sizes = {group: len(members) for group, members in current.items()}
            assert {group: size for group, size in driver.store("sizes").all() if size} == sizes


@settings(max_examples=examples(30))
@given(updates=ROWS, cuts=st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=8))
def test_cuts_and_restarts_do_not_change_aggregates_on_several_partitions(updates, cuts):
    """Compares the last result of each group, from partitions that take turns as on Spark."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        topics = hr.LocalTopics(directory / "topics")
        topics.create("in", partitions=3)
        topics.produce("in", [hr.Record(*update) for update in updates])
        runner = PlanRunner(topology(), directory)
        for limit, restart in cuts:
            runner.run_batch(limit)
            if restart:
                runner.restart()
        while runner.run_batch(1_000):
            pass
        found = {
            record.key: record.value
            for record in (topics.read("out", value_serde=serdes.Json(set[str])) if "out" in topics.list() else [])
        }
    latest = {key: row for key, row, _ in updates}
    assert {group: members for group, members in found.items() if members} == recomputed(
        {key: row for key, row in latest.items() if row is not None}
    )


def on_plan(topology, updates, cuts, partitions=3):
    """Runs the plan; returns all output topics and stores. `updates` go to partitions by their number."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        topics = hr.LocalTopics(directory / "topics")
        topics.create("in", partitions=partitions)
        records = [hr.Record(*update, partition=number % partitions) for number, update in enumerate(updates)]
        topics.produce("in", records)
        runner = PlanRunner(topology, directory)
        for limit in cuts:
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        return runner.outputs()


HEADED = st.lists(
    st.tuples(
        st.none() | st.sampled_from("abcde"),
        st.none() | st.tuples(st.sampled_from(["g", "h", None]), st.sampled_from(["x", "y", None])),
        st.integers(0, 30),
        st.sampled_from([(), (("h", b"1"),)]),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=examples(40))
@given(
    updates=HEADED,
    cuts=st.lists(st.integers(1, 9), max_size=5),
    aggregation=st.sampled_from(["set", "count", "reduce"]),
)
def test_batches_of_table_changes_equal_single_changes(updates, cuts, aggregation):
    builder = hr.StreamsBuilder()
    rows = builder.table("in").group_by(lambda key, row: None if row[0] == "h" and row[1] is None else tuple(row))
    grouped = {
        "set": lambda: rows.aggregate(list, lambda _, v, seen: [*seen, v], lambda _, v, seen: seen[1:] or None),
        "count": rows.count,
        "reduce": lambda: rows.reduce(lambda text, v: text + v, lambda text, v: text.replace(v, "", 1) or None),
    }[aggregation]()
    grouped.to_stream().to("out")
    topology = builder.build()
    with patch("headrace._runtime.assemble.columnar_forms", lambda *_, **__: {}):
        by_records = on_plan(topology, updates, cuts)
    assert on_plan(topology, updates, cuts) == by_records


def test_error_of_a_failing_function_names_its_record_and_operator(tmp_path):
    builder = hr.StreamsBuilder()
    rows = builder.table("in").group_by(lambda key, value: (value, 1 // (value != "bad")), name="by-value")
    rows.reduce(lambda a, b: a + b, lambda a, b: a - b, name="sum").to_stream().to("out")
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=1)
    topics.produce("in", [hr.Record("k", "fine", 1), hr.Record("j", "bad", 2)])
    with pytest.raises(hr.ProcessingError, match=r"by-value failed on record in-0@1 \(key 'j', timestamp 2\)"):
        PlanRunner(builder.build(), tmp_path).run_batch(10)
