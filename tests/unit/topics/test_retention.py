"""Topics that delete their oldest records, by time and by size."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

from headrace import LocalTopics, Record
from headrace.errors import TopicError
from headrace.topics.embedded.log import TopicLog
from headrace.topics.policy import TopicPolicy


@pytest.fixture
def clock():
    return [0]


@pytest.fixture
def log(tmp_path, clock):
    return TopicLog(tmp_path / "topics", clock_ms=lambda: clock[0])


def append(log, *timestamps, topic="t"):
    nulls = pa.nulls(len(timestamps), pa.binary())
    writer = log.writer()
    writer.write(topic, 0, pa.record_batch({"key": nulls, "value": nulls, "timestamp": pa.array(timestamps)}))
    log.commit(writer.finish())


def bounds(log):
    log.refresh()
    return log.begin_offsets("t"), log.end_offsets("t")


def test_records_are_deleted_when_they_are_too_old(log, clock):
    log.create("t", 1, TopicPolicy(retention_ms=100))
    append(log, 10, 20)
    append(log, 15)
    append(log, 90)
    clock[0] = 120
    append(log, 91)
    assert bounds(log) == ([0], [5])
    clock[0] = 121
    append(log, 92)
    for reader in (log, TopicLog(log.directory)):
        assert bounds(reader) == ([3], [6])
        assert reader.timestamps("t", 0, 3, 6).tolist() == [90, 91, 92]


def test_creating_topics_deletes_no_records(log, clock):
    log.create("t", 1, TopicPolicy(retention_ms=100))
    append(log, 10)
    clock[0] = 120
    log.commit((), create={"u": 1})
    assert bounds(log) == ([0], [1])
    append(log, 20, topic="u")
    assert bounds(log) == ([1], [1])


def test_an_old_record_behind_a_newer_one_stays_until_both_are_too_old(log, clock):
    log.create("t", 1, TopicPolicy(retention_ms=100))
    append(log, 500)
    append(log, 10)
    clock[0] = 590
    append(log, 580)
    assert bounds(log) == ([0], [3])
    clock[0] = 601
    append(log, 600)
    assert bounds(log) == ([2], [4])


def test_oldest_records_of_a_large_partition_are_deleted(log):
    append_to = LocalTopics(log.directory)
    append_to.create("t", 1, retention_bytes=3_000)
    for i in range(10):
        append_to.produce("t", [Record("k", i, i)])
    sizes = [part.size for part in append_to._log.catalog.partition("t", 0)]
    assert sum(sizes[2:]) < 3_000 <= sum(sizes)
    assert [record.value for record in append_to.read("t")] == list(range(10))[-len(sizes) :]


def test_a_topic_without_retention_keeps_everything(log, clock):
    log.create("t", 1)
    append(log, 1)
    clock[0] = 1 << 50
    append(log, 2)
    assert bounds(log) == ([0], [2])


def test_deleted_offsets_are_refused_with_what_to_do(log, clock):
    log.create("t", 1, TopicPolicy(retention_ms=100))
    append(log, 1, 2)
    located = log.extents("t", 0, 0, 2)
    clock[0] = 1000
    append(log, 950)
    with pytest.raises(
        TopicError,
        match=r"'t', partition 0: the records at offsets 1 to 1 are deleted, by the retention of the topic; the first "
        r"offset is 2\. .*`headrace reset`",
    ):
        log.read("t", 0, 1, 3)
    assert list(log.read("t", 0, 1, 1)) == []
    # The file is still there for a reader that has looked it up, and gone after the next deletion.
    assert [batch.num_rows for batch in log.read_extents(located, 0, 2)] == [2]
    log.upkeep.consolidate()
    with pytest.raises(TopicError, match="are deleted, by the retention"):
        list(log.read_extents(located, 0, 2))


def test_files_of_deleted_records_are_deleted_even_if_there_are_too_few_to_consolidate(log, clock):
    log.create("t", 1, TopicPolicy(retention_ms=5))
    for i in range(1000):
        clock[0] = i
        append(log, i)
    assert len(list(log.segments.iterdir())) < 140
    assert bounds(log) == ([994], [1000])


def test_retention_belongs_to_the_topic(tmp_path):
    topics = LocalTopics(tmp_path)
    topics.create("t", 1, retention=timedelta(days=7), retention_bytes=1 << 30)
    described = LocalTopics(tmp_path).describe("t")
    assert described.policy == TopicPolicy(retention_ms=604_800_000, retention_bytes=1 << 30)
    topics.create("t", 1, exist_ok=True)
    topics.create("t", 1, retention=timedelta(days=7), retention_bytes=1 << 30, exist_ok=True)
    with pytest.raises(
        TopicError,
        match=r"'t' already exists with retention.ms=604800000, retention.bytes=1073741824, which cannot be changed to "
        r"retention.ms=1000",
    ):
        topics.create("t", 1, retention=timedelta(seconds=1), exist_ok=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"retention": 5}, "retention must be a timedelta of at least 1 ms; got 5"),
        ({"retention": timedelta(0)}, r"retention must be a timedelta of at least 1 ms; got datetime.timedelta\(0\)"),
        ({"retention_bytes": 0}, "retention_bytes must be an integer of 1 or more; got 0"),
        ({"retention_bytes": True}, "retention_bytes must be an integer of 1 or more; got True"),
    ],
)
def test_invalid_settings_are_refused(tmp_path, settings, message):
    with pytest.raises(TopicError, match=f"Topic 't': {message}"):
        LocalTopics(tmp_path).create("t", **settings)
