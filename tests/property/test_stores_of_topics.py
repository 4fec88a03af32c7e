"""What processors make of stores that follow a topic, and their own metrics, do not depend on cuts and failures."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner

KEYS = st.sampled_from("abcd")
ROWS = st.lists(st.tuples(KEYS, st.integers(0, 9), st.integers(0, 50)), max_size=15)
RECORDS = st.lists(st.tuples(KEYS, st.sampled_from("abcd"), st.integers(0, 50)), max_size=25)
CUTS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, None, "before", "after", "restart"])), max_size=12)
EVERYWHERE, NEARBY = hr.Stores.key_value("everywhere"), hr.Stores.key_value("nearby")


class Listing(hr.Processor):
    """Lists the values of each key, counts them, and has a field that lasts as long as the task."""

    store = EVERYWHERE

    def init(self, context):
        super().init(context)
        self.rows = context.metrics.counter("rows")
        self.last = None

    def process(self, record):
        rows = self.context.state_store(self.store)
        rows.put(record.key, [*(rows.get(record.key) or []), [record.value, self.last]])
        self.last = record.value
        self.rows.add()


class ListingNearby(Listing):
    store = NEARBY


class Looking(hr.Processor):
    """Forwards what both stores have; its gauge is the number of records that the task has seen."""

    def stores(self):
        return [hr.Stores.key_value("seen")]

    def process(self, record):
        seen = self.context.state_store("seen")
        count = (seen.get("count") or 0) + 1
        seen.put("count", count)
        self.context.metrics.gauge("seen").set(count)
        self.context.metrics.counter("looked").add()
        rows = [
            self.context.state_store(EVERYWHERE).get(record.value),
            self.context.state_store(NEARBY).get(record.key),
        ]
        self.context.forward(record.with_value([record.value, *rows]))


def topology():
    builder = hr.StreamsBuilder()
    builder.add_global_store(EVERYWHERE, "everywhere", Listing, name="list")
    builder.add_read_only_state_store(NEARBY, "nearby", ListingNearby, name="list-nearby")
    builder.stream("in").process(Looking, stores=[EVERYWHERE, NEARBY], name="look").to("out")
    return builder.build()


def run(rows, nearby, records, cuts):
    with TemporaryDirectory() as name:
        directory = Path(name)
        topics = hr.LocalTopics(directory / "topics")
        for topic, partitions, listed in (("everywhere", 1, rows), ("nearby", 3, nearby), ("in", 3, records)):
            topics.create(topic, partitions=partitions)
            topics.produce(topic, [hr.Record(*record) for record in listed])
        runner = PlanRunner(topology(), directory)
        for limit, event in cuts:
            if event in ("before", "after"):
                runner.run_batch(limit, fail=event)
            elif event == "restart":
                runner.restart()
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        metrics = runner.metrics()
        own = {node: (metrics[node].get("counters"), metrics[node].get("gauges")) for node in metrics}
        return runner.outputs(), own


@settings(max_examples=examples(12))
@given(rows=ROWS, nearby=ROWS, records=RECORDS, cuts=CUTS)
def test_outputs_and_own_metrics_do_not_depend_on_cuts_failures_and_restarts(rows, nearby, records, cuts):
    whole, own = run(rows, nearby, records, [])
    assert run(rows, nearby, records, cuts) == (whole, own)
    counted = {"list": ("rows", rows), "list-nearby": ("rows", nearby), "look": ("looked", records)}
    assert {node: own[node][0] for node in counted if node in own} == {
        node: {counter: len(listed)} for node, (counter, listed) in counted.items() if listed
    }
    assert own.get("look", ({}, None))[1] == ({"seen": len(records)} if records else None)
