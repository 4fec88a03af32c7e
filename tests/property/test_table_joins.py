"""A join of tables always equals the join of the current rows of both sides, whatever updates led to them.

Every value is written only once, and results contain both values: so a result of rows that never coexisted shows.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace.testing import TopologyTestDriver
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner

CUTS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, None, "before", "after", "restart"])), max_size=8)


def pair(left, right):
    return [left, right]


def foreign_key(key, value):
    return value[0]


def by_key(kind):
    def build(builder):
        return getattr(builder.table("left"), kind)(builder.table("right"), pair)

    def rows(left, right):
        keys = {"join": left.keys() & right.keys(), "left_join": left.keys(), "outer_join": left.keys() | right.keys()}
        return {key: [left.get(key), right.get(key)] for key in keys[kind]}

    return build, rows


def related(left, right, kind):
    """The expected rows of a foreign-key join."""
    found = {key: [value, right.get(value[0])] for key, value in left.items()}
    return {key: both for key, both in found.items() if both[1] is not None or kind == "left_join"}


def by_foreign_key(kind):
    def build(builder):
        return getattr(builder.table("left"), kind)(builder.table("right"), pair, foreign_key=foreign_key)

    return build, lambda left, right: related(left, right, kind)


def with_itself(kind):
    def build(builder):
        table = builder.table("left")
        return getattr(table, kind)(table, pair, foreign_key=foreign_key)

    return build, lambda left, _: related(left, left, kind)


def is_chosen(_, value):
    return value[1] % 2 == 0


def with_some_of_itself(kind):
    def build(builder):
        table = builder.table("left")
        return getattr(table, kind)(table.filter(is_chosen), pair, foreign_key=foreign_key)

    def rows(left, _):
        return related(left, {key: value for key, value in left.items() if is_chosen(key, value)}, kind)

    return build, rows


def twice(kind):
    """A foreign-key join, joined with its left table again: by key, and by foreign key."""

    def build(builder):
        left, right = builder.table("left"), builder.table("right")
        first = getattr(left, kind)(right, pair, foreign_key=foreign_key)
        again = getattr(first, kind)(left, pair)
        return getattr(again, kind)(right, pair, foreign_key=lambda key, value: value[0][0][0])

    def rows(left, right):
        first = related(left, right, kind)
        return {key: [[both, left[key]], both[1]] for key, both in first.items()}

    return build, rows


def of_one_stream(kind, detours=0):
    """Both tables from one stream; a record changes any number of rows of both. `detours` repartition one of them."""

    def build(builder):
        changes = builder.stream("left").flat_map(lambda key, listed: [(change[1], change) for change in listed or []])
        tables = [
            changes.filter(lambda key, change, side=side: change[0] == side).map_values(lambda change: change[2])
            for side in ("left", "right")
        ]
        for number in range(detours):
            tables[1] = tables[1].repartition(f"detour-{number}")
        left, right = (stream.to_table() for stream in tables)
        return getattr(left, kind)(right, pair, foreign_key=foreign_key)

    return build, lambda left, right: related(left, right, kind)


JOINS = {
    "join": by_key("join"),
    "left join": by_key("left_join"),
    "outer join": by_key("outer_join"),
    "foreign key join": by_foreign_key("join"),
    "foreign key left join": by_foreign_key("left_join"),
    "self join": with_itself("join"),
    "left self join": with_itself("left_join"),
    "join with some of itself": with_some_of_itself("join"),
    "left join with some of itself": with_some_of_itself("left_join"),
    "joined twice": twice("join"),
    "left joined twice": twice("left_join"),
    "of one stream": of_one_stream("join"),
    "left of one stream": of_one_stream("left_join"),
    "of one stream by a detour": of_one_stream("join", detours=2),
    "left of one stream by a detour": of_one_stream("left_join", detours=3),
}


def updates_of(name):
    """Updates: topic, key, value, timestamp. Foreign keys are keys of the other table, or none."""
    keys = st.sampled_from("abcd")
    references = st.none() | keys
    side = st.sampled_from(["left", "right"])
    row = st.none() | references.map(lambda reference: [reference])
    if "of one stream" in name:
        change = st.tuples(side, keys, row).map(list)
        update = st.tuples(st.just("left"), keys, st.lists(change, max_size=5), st.just(0))
    else:
        topics = st.just("left") if "itself" in name or "self" in name else side
        update = st.tuples(topics, keys, row, st.integers(0, 30))
    return st.lists(update, min_size=1, max_size=30).map(lambda updates: numbered(updates, "of one stream" in name))


def numbered(updates, listed):
    """The updates with a different number in each value; those of one stream by time, so that they have one order."""
    if not listed:
        return [
            (topic, key, None if row is None else [*row, number], timestamp_ms)
            for number, (topic, key, row, timestamp_ms) in enumerate(updates)
        ]
    return [
        (
            topic,
            key,
            [[s, k, None if row is None else [*row, 10 * number + at]] for at, (s, k, row) in enumerate(changes)],
            number,
        )
        for number, (topic, key, changes, _) in enumerate(updates)
    ]


class Tables:
    """The current rows of both sides."""

    def __init__(self):
        self.rows = {"left": {}, "right": {}}

    def update(self, topic, key, value):
        if isinstance(value, list) and (not value or isinstance(value[0], list)):
            for side, changed_key, row in value:
                self.put(side, changed_key, row)
        else:
            self.put(topic, key, value)

    def put(self, side, key, row):
        if row is None:
            self.rows[side].pop(key, None)
        else:
            self.rows[side][key] = row


def topology_of(build):
    builder = hr.StreamsBuilder()
    build(builder).to_stream().to("out")
    return builder.build()


@pytest.mark.parametrize("name", JOINS)
def test_after_every_update_the_result_is_the_join_of_the_current_rows(name):
    build, joined = JOINS[name]
    topology = topology_of(build)

    @settings(max_examples=examples(60))
    @given(updates=updates_of(name), restart_after=st.sets(st.integers(0, 30), max_size=3))
    def check(updates, restart_after):
        tables, found = Tables(), {}
        with TopologyTestDriver(topology) as driver:
            for number, (topic, key, value, timestamp_ms) in enumerate(updates):
                if number in restart_after:
                    driver.restart()
                driver.input_topic(topic).pipe(key, value, timestamp_ms)
                tables.update(topic, key, value)
                found |= {record.key: record.value for record in driver.output_topic("out").read_all()}
                current = {key: both for key, both in found.items() if both is not None}
                assert current == joined(*tables.rows.values())

    check()


def on_plan(topology, updates, cuts, partitions):
    """The records of the output topic by partition, from stages and partitions that take turns as on Spark."""
    with TemporaryDirectory() as name:
        directory = Path(name)
        topics = hr.LocalTopics(directory / "topics")
        for topic in topology._graph.source_topics:
            topics.create(topic, partitions=partitions[topic])
            topics.produce(topic, [hr.Record(*update[1:]) for update in updates if update[0] == topic])
        runner = PlanRunner(topology, directory)
        for limit, event in cuts:
            if event in ("before", "after"):
                runner.run_batch(limit, fail=event)
            elif event == "restart":
                runner.restart()
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        return runner.outputs(), topics.read("out") if "out" in topics.list() else []


@pytest.mark.parametrize("name", JOINS)
def test_on_several_partitions_cuts_change_nothing_and_the_last_results_are_the_join_of_the_last_rows(name):
    build, joined = JOINS[name]
    topology = topology_of(build)
    other_counts = st.integers(1, 4) if "foreign key" in name else st.just(3)

    @settings(max_examples=examples(15))
    @given(updates=updates_of(name), cuts=CUTS, others=other_counts)
    def check(updates, cuts, others):
        tables = Tables()
        for topic, key, value, _ in updates:
            tables.update(topic, key, value)
        partitions = {"left": 3, "right": others}
        outputs, records = on_plan(topology, updates, cuts, partitions)
        found = {record.key: record.value for record in records}
        assert {key: both for key, both in found.items() if both is not None} == joined(*tables.rows.values())
        assert outputs == on_plan(topology, updates, [], partitions)[0]

    check()
