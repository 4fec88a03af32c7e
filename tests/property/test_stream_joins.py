"""Joins of streams equal a slow model of the same rules, however the input is cut, lost or repeated."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver
from tests.support.dose import examples
from tests.support.plan_runner import PlanRunner

TOPICS = ("left", "right")
METHODS = {"inner": "join", "left": "left_join", "outer": "outer_join"}
KINDS = pytest.mark.parametrize("kind", METHODS)
TRACKING = pytest.mark.parametrize("tracking", [False, True], ids=["one clock", "a clock for each key"])

KEYS = st.sampled_from(["a", "b", "c", ""])
TIMES = st.integers(0, 40) | st.integers(200, 230)
RECORDS = st.lists(
    st.tuples(st.sampled_from(TOPICS), KEYS | st.none(), st.sampled_from(["x", "y", None, "z"]), TIMES),
    min_size=1,
    max_size=40,
)
CUTS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from([None, None, "before", "after", "restart"])), max_size=10)


@st.composite
def join_windows(draw):
    """Windows that are symmetric, one-sided or negative."""
    before_ms = draw(st.integers(-5, 12))
    after_ms = draw(st.integers(max(-5, -before_ms), 12))
    return hr.JoinWindows(before_ms, after_ms, draw(st.integers(0, 8)))


def topology(kind, windows):
    builder = hr.StreamsBuilder()
    left, right = (builder.stream(topic, value_serde=serdes.String()) for topic in TOPICS)
    getattr(left, METHODS[kind])(right, lambda left, right: [left, right], within=windows).to("out")
    return builder.build()


def on_driver(kind, windows, records, *, tracking=False, restarts=()):
    """Outputs by the number of the input record that caused them."""
    config = hr.StreamsConfig(application_id="test", allow_stream_time_key_tracking=tracking)
    found = []
    with TopologyTestDriver(topology(kind, windows), config) as driver:
        for number, (topic, *record) in enumerate(records):
            if number in restarts:
                driver.restart()
            driver.input_topic(topic).pipe(*record)
            found.append([(r.key, r.value, r.timestamp_ms) for r in driver.output_topic("out").read_all()])
    return found


class SlowJoin:
    """A slow model of a join: scans lists of all stored records for every record. One clock, or one for each key."""

    def __init__(self, kind, windows, tracking):
        self.windows, self.tracking = windows, tracking
        self.outer = {"left": kind != "inner", "right": kind == "outer"}
        self.reach = {"left": (windows.before_ms, windows.after_ms), "right": (windows.after_ms, windows.before_ms)}
        self.kept = {topic: [] for topic in TOPICS}
        self.time, self.store_time, self.waiting, self.next = {}, {}, [], {}

    def process(self, topic, key, value, at):
        clock = key if self.tracking else None
        if not (self.tracking and key is None):
            self.time[clock] = max(self.time.get(clock, -1), at)
        if value is None or key is None:
            return [self.alone(topic, key, value, at)] if value is not None and self.outer[topic] else []
        results = self.unmatched(topic, clock) if at == self.time[clock] and any(self.outer.values()) else []
        partners = self.partners(topic, key, at)
        other = self.other(topic)
        for other_at, other_value in partners:
            self.waiting = [entry for entry in self.waiting if entry[:3] != (other_at, other == "left", key)]
            both = [value, other_value] if topic == "left" else [other_value, value]
            results.append((key, both, max(at, other_at)))
        if self.outer[topic] and not partners:
            if max(0, at + self.reach[topic][1]) < self.time[clock]:
                results.append(self.alone(topic, key, value, at))
            else:
                self.waiting.append((at, topic == "left", key, value))
                self.next[clock] = min(self.next.get(clock, at), at)
        self.keep(topic, key, value, at, clock)
        return results

    def other(self, topic):
        return TOPICS[1 - TOPICS.index(topic)]

    def alone(self, topic, key, value, at):
        return key, [value, None] if topic == "left" else [None, value], at

    def retention(self):
        return self.windows.before_ms + self.windows.after_ms + self.windows.grace_ms

    def keep(self, topic, key, value, at, clock):
        """Stores a record; the clock of a store advances only with records of its own side."""
        reached = self.store_time[topic, clock] = max(self.store_time.get((topic, clock), -1), at)
        if at > reached - self.retention():
            self.kept[topic].append((at, key, value))

    def partners(self, topic, key, at):
        other, (before_ms, after_ms) = self.other(topic), self.reach[topic]
        reached = self.store_time.get((other, key if self.tracking else None), -1)
        found = [
            (other_at, value)
            for other_at, other_key, value in self.kept[other]
            if other_key == key and max(0, at - before_ms) <= other_at <= max(0, at + after_ms)
            if other_at > reached - self.retention()
        ]
        return sorted(found, key=lambda entry: entry[0])

    def unmatched(self, topic, clock):
        """The scan for unmatched records, exactly as Kafka Streams does it."""
        grace_ms, time = self.windows.grace_ms, self.time[clock]
        if clock in self.next and self.next[clock] + self.reach[topic][1] + grace_ms >= time:
            return []
        self.next.pop(clock, None)
        mine = [entry for entry in self.waiting if not self.tracking or entry[2] == clock]
        results, still_open, looked_at = [], set(), None
        for entry in sorted(mine, key=lambda entry: (entry[0], entry[1], entry[2].encode())):
            at, is_left, key, value = entry
            side = "left" if is_left else "right"
            # Records of the same key, side and time are one entry, a list.
            if len(still_open) == 2 and looked_at != entry[:3]:
                self.next[clock] = at
                break
            self.next[clock], looked_at = at, entry[:3]
            if at + self.reach[side][1] + grace_ms >= time:
                still_open.add(side)
            else:
                self.waiting.remove(entry)
                results.append(self.alone(side, key, value, at))
        return results


@KINDS
@TRACKING
def test_join_equals_a_model_that_scans_all_stored_records(kind, tracking):
    @settings(max_examples=examples(150))
    @given(windows=join_windows(), records=RECORDS, restarts=st.sets(st.integers(0, 39), max_size=4))
    def check(windows, records, restarts):
        slow = SlowJoin(kind, windows, tracking)
        expected = [slow.process(*record) for record in records]
        assert on_driver(kind, windows, records, tracking=tracking, restarts=restarts) == expected

    check()


@settings(max_examples=examples(80))
@given(records=RECORDS)
def test_if_nothing_expires_an_inner_join_is_every_pair_within_the_windows(records):
    windows = hr.JoinWindows(5, 7, 1_000)
    joined = [result for found in on_driver("inner", windows, records) for result in found]
    sides = {topic: [record[1:] for record in records if record[0] == topic and None not in record] for topic in TOPICS}
    pairs = [
        (key, [value, other], max(at, other_at))
        for key, value, at in sides["left"]
        for other_key, other, other_at in sides["right"]
        if other_key == key and at - 5 <= other_at <= at + 7
    ]
    assert sorted(joined) == sorted(pairs)


@KINDS
def test_with_a_clock_for_each_key_results_of_a_key_do_not_depend_on_other_keys(kind):
    @settings(max_examples=examples(60))
    @given(windows=join_windows(), records=RECORDS)
    def check(windows, records):
        together = on_driver(kind, windows, records, tracking=True)
        for key in {record[1] for record in records} - {None}:
            numbers = [number for number, record in enumerate(records) if record[1] == key]
            alone = on_driver(kind, windows, [records[number] for number in numbers])
            assert [together[number] for number in numbers] == alone

    check()


def on_plan(kind, windows, records, cuts, *, tracking):
    with TemporaryDirectory() as name:
        directory = Path(name)
        topics = hr.LocalTopics(directory / "topics")
        for topic in TOPICS:
            topics.create(topic, partitions=2)
            topics.produce(topic, [hr.Record(*r) for to, *r in records if to == topic], value_serde=serdes.String())
        config = hr.StreamsConfig(application_id="test", allow_stream_time_key_tracking=tracking)
        runner = PlanRunner(topology(kind, windows), directory, config=config)
        for limit, event in cuts:
            if event in ("before", "after"):
                runner.run_batch(limit, fail=event)
            elif event == "restart":
                runner.restart()
            runner.run_batch(limit)
        while runner.run_batch(1_000):
            pass
        return runner.outputs()


@KINDS
@TRACKING
def test_cuts_failures_and_restarts_do_not_change_any_result(kind, tracking):
    @settings(max_examples=examples(20))
    @given(windows=join_windows(), records=RECORDS, cuts=CUTS)
    def check(windows, records, cuts):
        whole = on_plan(kind, windows, records, [], tracking=tracking)
        assert on_plan(kind, windows, records, cuts, tracking=tracking) == whole

    check()
