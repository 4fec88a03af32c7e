"""Small data files are rewritten as few larger ones, behind the back of readers and writers."""

from __future__ import annotations

import logging
import threading

import pyarrow as pa
import pytest

from headrace.topics.embedded import catalog as _catalog
from headrace.topics.embedded import upkeep as _upkeep
from headrace.topics.embedded.log import ORDER_SCHEMA, TopicLog


@pytest.fixture
def log(tmp_path):
    log = TopicLog(tmp_path / "topics")
    log.create("t", 2)
    return log


@pytest.fixture
def groups_of_four(monkeypatch):
    for module in (_catalog, _upkeep):
        monkeypatch.setattr(module, "FAN_IN", 4)


def append(log, *numbers, partition=0, size=0, **options):
    values = pa.array([str(number).encode() + bytes(size) for number in numbers], pa.binary())
    writer = log.writer()
    writer.write("t", partition, pa.record_batch({"key": values, "value": values, "timestamp": pa.array(numbers)}))
    log.commit(writer.finish(), **options)


def numbers(batches):
    return [number for batch in batches for number in batch.column("timestamp").to_pylist()]


def read(log, partition=0, start=0):
    log.refresh()
    return numbers(log.read("t", partition, start, log.end_offsets("t")[partition]))


def segments(log):
    return sorted(path.name for path in log.segments.iterdir())


def test_many_small_commits_leave_few_files(log):
    for i in range(1000):
        append(log, i, partition=i % 2)
    # 15 of 64 commits each, 40 single ones, and the 64 of the last step, for readers that may still need them
    assert len(segments(log)) == 15 + 40 + 64
    for reader in (log, TopicLog(log.directory)):
        assert (read(reader), read(reader, 1)) == (list(range(0, 1000, 2)), list(range(1, 1000, 2)))


def test_each_level_is_consolidated(log, groups_of_four):
    for i in range(4 * 4 * 4 + 4 + 1):
        append(log, i)
    log.upkeep.consolidate()
    log.upkeep.consolidate()
    assert sorted(stored.level for stored in log.catalog._stored.values()) == [0, 1, 3]
    assert len(segments(log)) == 3
    assert read(TopicLog(log.directory)) == list(range(69))


def test_large_files_are_left_alone_and_a_group_is_bounded(log, groups_of_four, monkeypatch):
    monkeypatch.setattr(_catalog, "_LARGE_BYTES", 5_000)
    monkeypatch.setattr(_catalog, "_GROUP_BYTES", 9_000)
    append(log, 0, size=1_000_000)
    large = segments(log)
    for i in range(1, 4):
        append(log, i, size=1)
    append(log, 4, size=1_000_000)
    append(log, 5)
    log.upkeep.consolidate()
    assert set(large) <= set(segments(log))
    assert [(part.first, part.end) for part in log.catalog.partition("t", 0)] == [(0, 1), (1, 4), (4, 5), (5, 6)]
    assert read(TopicLog(log.directory)) == list(range(6))


def test_records_of_several_writers_are_stored_in_their_order(log, groups_of_four):
    def run(numbers):
        columns = {field.name: pa.array(numbers, field.type) for field in ORDER_SCHEMA}
        nulls = pa.nulls(len(numbers), pa.binary())
        writer = log.writer()
        records = {"key": nulls, "value": nulls, "timestamp": pa.array(numbers, pa.int64())}
        writer.write("t", 0, pa.record_batch(records | columns))
        return writer.finish()

    for first in (0, 10, 20, 30):
        log.commit([*run([first + 1, first + 4]), *run([first + 2, first + 3])])
    expected = [first + i for first in (0, 10, 20, 30) for i in (1, 2, 3, 4)]
    assert [len(extent.runs) for extent in log.extents("t", 0, 0, 16)] == [1]
    assert read(TopicLog(log.directory)) == expected
    assert log.timestamps("t", 0, 3, 9).tolist() == expected[3:9]


def test_reader_continues_after_the_files_it_looked_up_are_gone(log, groups_of_four, monkeypatch):
    for i in range(3):
        append(log, i)
    monkeypatch.setattr("headrace.topics.batches.MAX_ROWS", 1)
    elsewhere = TopicLog(log.directory)
    extents = log.extents("t", 0, 0, 3)
    reading = elsewhere.read_extents(extents, 0, 3)
    assert next(reading).column("timestamp").to_pylist() == [0]
    append(log, 3)
    log.upkeep.consolidate()
    assert len(segments(log)) == 1
    assert numbers(reading) == [1, 2]
    assert numbers(TopicLog(log.directory).read_extents(extents, 1, 3)) == [1, 2]
    stale, found = TopicLog(log.directory), iter([extents, log.extents("t", 0, 0, 3)])
    monkeypatch.setattr(stale, "extents", lambda *_: next(found))
    assert stale.timestamps("t", 0, 0, 3).tolist() == [0, 1, 2]


def test_batch_of_a_producer_stays_committed_once(log, groups_of_four):
    for batch in range(5):
        append(log, batch, producer="p", batch=batch)
    log.upkeep.consolidate()
    again = TopicLog(log.directory)
    append(again, 99, producer="p", batch=3)
    assert (again.last_batch("p"), read(again)) == (4, list(range(5)))


def test_file_of_a_process_that_died_before_its_commit_is_deleted(log, groups_of_four, monkeypatch):
    for i in range(3):
        append(log, i)
    died = RuntimeError("killed")

    def die(self, commit):
        raise died

    original = _upkeep.rewrite

    def rewrite_then_die(*given):
        runs = original(*given)
        patch.setattr(TopicLog, "append", die)
        return runs

    with monkeypatch.context() as patch:
        patch.setattr(_upkeep, "rewrite", rewrite_then_die)
        with pytest.raises(RuntimeError, match="killed"):
            append(log, 3)
    assert len([name for name in segments(log) if name.startswith("consolidated.")]) == 1
    again = TopicLog(log.directory)
    assert read(again) == [0, 1, 2, 3]
    again.upkeep.consolidate()
    again.upkeep.consolidate()
    assert len(segments(again)) == 1
    assert read(TopicLog(log.directory)) == [0, 1, 2, 3]


def test_failure_does_not_fail_the_commit_and_is_tried_again_later(log, groups_of_four, caplog):
    append(log, 0)
    damaged = log.segments / segments(log)[0]
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1] + b"x")
    with caplog.at_level(logging.WARNING):
        for i in range(1, 7):
            append(log, i)
    (warning,) = caplog.messages
    assert warning.startswith("Cannot consolidate small data files; trying again after some commits. Topic 't'")
    damaged.write_bytes(content)
    for i in range(7, 10):
        append(log, i)
    assert len(log.catalog._stored) < 10
    assert read(TopicLog(log.directory)) == list(range(10))


def test_only_one_process_consolidates_while_others_write(log, groups_of_four, monkeypatch):
    for i in range(3):
        append(log, i)
    started, go_on = threading.Event(), threading.Event()
    original = _upkeep.rewrite

    def wait(*given):
        started.set()
        assert go_on.wait(20)
        return original(*given)

    monkeypatch.setattr(_upkeep, "rewrite", wait)
    thread = threading.Thread(target=append, args=(log, 3))
    thread.start()
    assert started.wait(20)
    other = TopicLog(log.directory)
    append(other, 4)
    assert not other.upkeep.consolidate()
    go_on.set()
    thread.join()
    assert [(part.first, part.end) for part in log.catalog.partition("t", 0)] == [(0, 4), (4, 5)]
    assert read(other) == list(range(5))
