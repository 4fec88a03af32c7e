"""Topics that keep the last record of each key."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import LocalTopics, Record
from headrace.cli.commands.consume import read_stored_records
from headrace.errors import TopicError
from headrace.topics.embedded import catalog as _catalog
from headrace.topics.embedded import upkeep as _upkeep
from headrace.topics.embedded.log import TopicLog
from tests.support.plan_runner import PlanRunner


@pytest.fixture(autouse=True)
def groups_of_four(monkeypatch):
    for module in (_catalog, _upkeep):
        monkeypatch.setattr(module, "FAN_IN", 4)


@pytest.fixture
def topics(tmp_path):
    topics = LocalTopics(tmp_path / "topics")
    topics.create("t", 1, cleanup_policy="compact")
    return topics


def produce(topics, *pairs):
    for i, (key, value) in enumerate(pairs):
        topics.produce("t", [Record(key, value, i)])
    while topics._log.upkeep.consolidate():
        pass


def stored(topics):
    return [(offset, r.key, r.value) for offset, r in read_stored_records(topics, "t", follow=False, from_end=False)]


def test_only_the_last_record_of_each_key_stays_at_its_offset(topics):
    produce(topics, ("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5), (None, 6), ("c", None), (None, 7), ("d", 8))
    expected = [(1, b"b", b"2"), (4, b"a", b"5"), (5, None, b"6"), (6, b"c", None), (7, None, b"7"), (8, b"d", b"8")]
    for reader in (topics, LocalTopics(topics._directory)):
        assert stored(reader) == expected
        values = [("b", 2), ("a", 5), (None, 6), ("c", None), (None, 7), ("d", 8)]
        assert [(record.key, record.value) for record in reader.read("t")] == values
    described = topics.describe("t")
    assert (described.begin_offsets, described.end_offsets) == ((0,), (9,))


def test_any_slice_and_its_timestamps(topics, monkeypatch):
    monkeypatch.setattr("headrace.topics.embedded.writer.MAX_ROWS", 2)
    produce(topics, *((f"k{i % 5}" if i % 2 else "even", i) for i in range(16)), ("last", 16))
    kept = {int(r.timestamp_ms) for r in topics.read("t")}
    assert kept < set(range(17))
    log = TopicLog(topics._directory)
    for start in range(18):
        for end in range(start, 18):
            offsets = [n for batch in log.read("t", 0, start, end) for n in batch.column("timestamp").to_pylist()]
            assert offsets == [offset for offset in range(start, end) if offset in kept]
            timestamps = log.timestamps("t", 0, start, end).tolist()
            assert [n for i, n in enumerate(timestamps, start) if i in kept] == offsets
            assert timestamps == [max((n for n in offsets if n <= i), default=-1) for i in range(start, end)]


def test_compaction_follows_further_commits(topics):
    for round_number in range(6):
        produce(topics, *((f"k{i}", 10 * round_number + i) for i in range(4)))
    assert [(r.key, r.value) for r in topics.read("t")] == [(f"k{i}", 50 + i) for i in range(4)]
    assert len(list(topics._log.segments.iterdir())) < 10


def test_application_reads_a_compacted_topic_in_bounded_batches(topics, tmp_path):
    produce(topics, ("a", 1), ("b", 2), ("a", 3), ("b", 4), ("a", 5), ("c", 6))
    topics.create("other", 1)
    topics.produce("other", [Record("o", i, i) for i in range(6)])
    builder = hr.StreamsBuilder()
    builder.stream(["t", "other"]).to("out")
    runner = PlanRunner(builder.build(), tmp_path)
    while runner.run_batch(3):
        pass
    read = {(r.key, r.value) for r in topics.read("out") if r.key != "o"}
    assert read == {(r.key, r.value) for r in topics.read("t")} == {("b", 4), ("a", 5), ("c", 6)}
    assert len(topics.read("out")) == 9


def test_retention_needs_the_policy_delete(tmp_path):
    topics = LocalTopics(tmp_path)
    with pytest.raises(TopicError, match=r"with cleanup_policy='compact', retention and .* Use 'compact,delete'"):
        topics.create("t", 1, cleanup_policy="compact", retention=timedelta(days=1))
    with pytest.raises(TopicError, match="cleanup_policy must be one of delete, compact, compact,delete; got 'none'"):
        topics.create("t", 1, cleanup_policy="none")
    topics.create("t", 1, cleanup_policy="compact,delete", retention=timedelta(days=1))
    assert topics.describe("t").policy.describe() == "retention.ms=86400000, cleanup.policy=compact,delete"
