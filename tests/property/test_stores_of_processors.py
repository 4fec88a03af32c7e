"""Bounded, custom and other stores of processors are kept exactly once, however batches are cut, lost and repeated."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner

MS = timedelta(milliseconds=1)
TEXT = {"key_serde": serdes.String(), "value_serde": serdes.String()}


class Ranking:
    """The highest numbers, in their order; also counts all it was given, in a cached field."""

    def __init__(self, entries: hr.ByteStore) -> None:
        self._entries = entries
        self._count = int(entries.get(b"count") or 0)

    def add(self, number: int) -> None:
        self._count += 1
        self._entries.put(b"count", str(self._count).encode())
        self._entries.put(b"n%03d" % number, b"")
        for key, _ in list(self._entries.reverse_range(b"n", b"o"))[3:]:
            self._entries.delete(key)

    def highest(self) -> list[int]:
        return [int(key[1:]) for key, _ in self._entries.reverse_range(b"n", b"o")]

    def count(self) -> int:
        return self._count


RECENT = hr.Stores.lru_map("recent", max_entries=2, **TEXT)
RANKING = hr.Stores.custom("ranking", Ranking, view=lambda parts: sum(part.count() for part in parts))
LAST = hr.Stores.timestamped_key_value_with_headers("last", **TEXT)
VERSIONS = hr.Stores.versioned_key_value("versions", history=1_000 * MS, **TEXT)


class Reporting(hr.Processor):
    """Forwards what it finds in its stores."""

    def init(self, context):
        super().init(context)
        self.recent, self.ranking, self.last, self.versions = (
            context.state_store(store) for store in (RECENT, RANKING, LAST, VERSIONS)
        )

    def process(self, record):
        key, value, at = record.key, record.value, record.timestamp_ms
        if value % 3:
            self.recent.put(key, str(value))
        else:
            self.recent.get(key)
        self.ranking.add(value)
        before = self.last.get(key)
        self.last.put(key, str(value), at, (("value", str(value).encode()),))
        self.versions.put(key, str(value), at)
        found = [
            list(self.recent.reverse_all()),
            self.ranking.highest(),
            self.ranking.count(),
            [(version.value, version.valid_to_ms) for version in self.versions.versions(key, at - 9, at)],
        ]
        self.context.forward(record.with_value(found).with_headers(() if before is None else before.headers))


def topology():
    builder = hr.StreamsBuilder()
    builder.stream("in").process(Reporting, stores=[RECENT, RANKING, LAST, VERSIONS]).to("out")
    return builder.build()


RECORDS = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 99), st.integers(0, 60)), max_size=25)
EVENTS = st.sampled_from([None, None, "before", "after", "restart"])
CUTS = st.lists(st.tuples(st.integers(1, 9), EVENTS), max_size=10)


def on_driver(records):
    with TopologyTestDriver(topology()) as driver:
        for record in records:
            driver.input_topic("in").pipe(*record)
        return [tuple(record) for record in map(shown, driver.output_topic("out").read_all())]


def on_plan(records, cuts):
    with TemporaryDirectory() as name:
        topics = hr.LocalTopics(Path(name) / "topics")
        topics.create("in", partitions=1)
        topics.produce("in", [hr.Record(*record) for record in records])
        runner = PlanRunner(topology(), Path(name))
        for limit, event in cuts:
            if event == "restart":
                runner.restart()
            elif event is not None:
                runner.run_batch(limit, fail=event)
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        return [shown(record) for record in topics.read("out")] if "out" in topics.list() else []


def shown(record):
    return record.key, record.value, record.timestamp_ms, record.headers


@settings(max_examples=examples(40), deadline=None)
@given(records=RECORDS, cuts=CUTS)
def test_cuts_failures_and_restarts_do_not_change_what_is_in_stores(records, cuts):
    expected = [(key, _as_json(value), at, headers) for key, value, at, headers in on_driver(records)]
    assert [(key, _as_json(value), at, headers) for key, value, at, headers in on_plan(records, cuts)] == expected


def _as_json(value):
    return repr(value).replace("(", "[").replace(")", "]")
