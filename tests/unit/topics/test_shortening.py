"""A long commit log is replaced by a short one that says the same, behind the back of readers and writers."""

from __future__ import annotations

import errno
import logging
import multiprocessing
import os
import shutil
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import TopicError
from headrace.topics.embedded import upkeep as _upkeep
from headrace.topics.embedded.log import TopicLog


@pytest.fixture
def log(tmp_path):
    log = TopicLog(tmp_path / "topics")
    log.create("t", 2)
    return log


@pytest.fixture
def unsynced(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def append(log, *numbers, partition=0, **options):
    values = pa.array([str(number).encode() for number in numbers], pa.binary())
    with log.writer() as writer:
        writer.write("t", partition, pa.record_batch({"key": values, "value": values, "timestamp": pa.array(numbers)}))
        return log.commit(writer.finish(), **options)


def read(log, partition=0):
    log.refresh()
    batches = log.read("t", partition, 0, log.end_offsets("t")[partition])
    return [number for batch in batches for number in batch.column("timestamp").to_pylist()]


def log_file(log):
    return log.directory / "commits.log"


def test_name_of_the_log_is_synced_at_first_and_after_it_was_replaced(log, monkeypatch):
    synced = []

    def sync(descriptor):
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    other = TopicLog(log.directory)
    steps = []
    for act in (append, append, append, lambda log, number: log.upkeep.shorten(), append, append):
        act(log, 1)
        other.refresh()
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", sync)
            other.sync()
        steps.append(tuple(synced))
        synced.clear()
    content, name = ("commits.log",), ("commits.log", "topics")
    assert steps == [name, content, content, name, content, content]


class TestSize:
    def test_size_depends_on_what_lives_not_on_the_number_of_commits(self, log, unsynced):
        for i in range(20_000):
            log.commit([], producer=f"p{i % 3}", batch=i // 3)
        assert log_file(log).stat().st_size < 300_000
        log.upkeep.shorten()
        assert log_file(log).stat().st_size < 400
        last = TopicLog(log.directory).last_batch
        assert [last(producer) for producer in ("p0", "p1", "p2", "p3")] == [6666, 6666, 6665, None]

    def test_log_has_an_entry_for_each_data_file(self, log, unsynced, monkeypatch):
        monkeypatch.setattr(_upkeep, "_SHORTEN_AFTER_BYTES", 20_000)
        sizes = []
        for i in range(1500):
            append(log, i, partition=i % 2)
            sizes.append(log_file(log).stat().st_size)
        assert max(sizes) < 20_000 + 2 * 90 * 250
        log.upkeep.shorten()
        preamble_and_state, files = 2, 1500 // 64 + 1500 % 64
        assert log_file(log).read_bytes().count(b"\n") == preamble_and_state + files
        for reader in (log, TopicLog(log.directory)):
            assert (read(reader), read(reader, 1)) == (list(range(0, 1500, 2)), list(range(1, 1500, 2)))

    def test_log_is_shortened_only_when_it_is_twice_as_long_as_its_snapshot(self, log, monkeypatch):
        monkeypatch.setattr(_upkeep, "_SHORTEN_AFTER_BYTES", 0)
        snapshots = [1]
        for i in range(60):
            append(log, i)
            if log.journal.snapshot_end != snapshots[-1]:
                snapshots.append(log.journal.snapshot_end)
        assert len(snapshots) > 5
        assert [after // before for before, after in pairwise(snapshots[1:])] == [2] * (len(snapshots) - 2)


class TestReaders:
    def test_reader_follows_over_several_generations(self, log):
        reader = TopicLog(log.directory)
        for i in range(5):
            append(log, i)
            log.upkeep.shorten()
            assert reader.has_grown()
            assert read(reader) == list(range(i + 1))
            assert not reader.has_grown()
        append(log, 5)
        log.upkeep.shorten()
        log.upkeep.shorten()
        append(log, 6)
        assert read(reader) == list(range(7))

    def test_records_are_looked_up_in_the_new_file(self, log):
        for i in range(3):
            append(log, i)
        reader = TopicLog(log.directory)
        assert reader.end_offsets("t") == [3, 0]
        extents = reader.extents("t", 0, 0, 3)
        log.upkeep.shorten()
        append(log, 3)
        assert reader.extents("t", 0, 0, 3) == extents
        assert reader.timestamps("t", 0, 1, 3).tolist() == [1, 2]
        assert reader.end_offsets("t") == [4, 0]

    def test_file_that_a_reader_has_open_does_not_change(self, log):
        append(log, 0)
        with log_file(log).open("rb") as file:
            before = file.read()
            log.upkeep.shorten()
            append(log, 1)
            TopicLog(log.directory).commit([], producer="p", batch=0)
            file.seek(0)
            assert file.read() == before

    def test_file_that_another_machine_has_replaced_is_opened_again(self, log, monkeypatch):
        append(log, 0)
        log.upkeep.shorten()
        failures, pread = [OSError(errno.ESTALE, "Stale file handle")] * 2, os.pread

        def stale(*given):
            if failures:
                raise failures.pop()
            return pread(*given)

        monkeypatch.setattr(os, "pread", stale)
        assert read(TopicLog(log.directory)) == [0]

    def test_older_copy_of_the_log_is_refused(self, log):
        append(log, 0)
        log.upkeep.shorten()
        older = log_file(log).read_bytes()
        log.upkeep.shorten()
        log_file(log).write_bytes(older)
        with pytest.raises(TopicError, match="deleted, replaced or shortened"):
            log.refresh()

    @pytest.mark.parametrize("at", range(0, 600, 7))
    def test_damaged_snapshot_is_an_error_and_nothing_is_changed(self, log, at):
        append(log, 0)
        log.upkeep.shorten()
        content = bytearray(log_file(log).read_bytes())
        at %= len(content)
        for damaged in (content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :], content[: max(at, 70)]):
            log_file(log).write_bytes(damaged)
            for act in (TopicLog.refresh, lambda log: log.create("u", 1)):
                with pytest.raises(TopicError, match="is damaged at byte"):
                    act(TopicLog(log.directory))
            assert log_file(log).read_bytes() == damaged


class TestWriters:
    def test_writer_that_has_not_noticed_appends_to_the_new_file(self, log):
        other = TopicLog(log.directory)
        append(other, 0)
        log.upkeep.shorten()
        append(other, 1)
        log.upkeep.shorten()
        log.upkeep.shorten()
        append(other, 2)
        assert read(log) == read(other) == read(TopicLog(log.directory)) == [0, 1, 2]

    def test_unfinished_commit_is_removed_before_and_after(self, log):
        append(log, 0)
        for i in (1, 2):
            with log_file(log).open("ab") as file:
                file.write(b"000000f0 12345678 {")
            log.upkeep.shorten()
            append(log, i)
        assert read(TopicLog(log.directory)) == [0, 1, 2]

    def test_application_that_was_stopped_for_long_publishes_its_last_batch_once(self, log):
        append(log, 0, producer="stopped", batch=7)
        for i in range(5):
            append(log, 10 + i, producer="running", batch=i)
            log.upkeep.shorten()
        again = TopicLog(log.directory)
        assert not append(again, 0, producer="stopped", batch=7)
        assert append(again, 1, producer="stopped", batch=8)
        assert read(again) == [0, 10, 11, 12, 13, 14, 1]

    def test_only_one_process_consolidates_or_shortens(self, log):
        append(log, 0)
        with _upkeep.file_lock(log.directory / "consolidate.lock"):
            assert not log.upkeep.shorten()
        assert log.upkeep.shorten()

    def test_permissions_stay(self, log):
        log_file(log).chmod(0o640)
        log.upkeep.shorten()
        assert log_file(log).stat().st_mode & 0o777 == 0o640

    def test_failure_does_not_fail_the_commit_and_is_tried_again_later(self, log, monkeypatch, caplog):
        monkeypatch.setattr(_upkeep, "_SHORTEN_AFTER_BYTES", 1000)
        real = os.pwrite

        def full(descriptor, data, position):
            if position == 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, data, position)

        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
            patch.setattr(os, "pwrite", full)
            for i in range(10):
                append(log, i)
        (warning,) = caplog.messages
        assert warning.startswith("Cannot shorten the commit log; trying again after some commits. Cannot replace '")
        assert "is full" in warning
        assert not list(log.directory.glob("*.new"))
        for i in range(10, 80):
            append(log, i)
        assert log.catalog.position.generation > 0
        assert read(TopicLog(log.directory)) == list(range(80))

    def test_rest_of_a_process_that_died_is_removed(self, log):
        (log.directory / "commits.log.new").write_text("unfinished")
        append(log, 0)
        log.upkeep.shorten()
        assert sorted(path.name for path in log.directory.iterdir()) == [
            "commits.log",
            "consolidate.lock",
            "lock",
            "segments",
        ]
        assert read(TopicLog(log.directory)) == [0]

    def test_copied_directory_continues(self, log, tmp_path):
        append(log, 0)
        log.upkeep.shorten()
        shutil.copytree(log.directory, tmp_path / "copy")
        copy = TopicLog(tmp_path / "copy")
        append(copy, 1)
        assert read(copy) == [0, 1]

    def test_two_processes_append_while_a_third_shortens(self, log):
        context = multiprocessing.get_context("spawn")
        stop = context.Event()
        producers = [context.Process(target=_produce, args=(log.directory, n, 15)) for n in range(2)]
        shortener = context.Process(target=_shorten, args=(log.directory, stop))
        for process in (shortener, *producers):
            process.start()
        reader = TopicLog(log.directory)
        while any(process.is_alive() for process in producers):
            for partition in range(2):
                seen = read(reader, partition)
                assert seen == list(range(len(seen)))
        stop.set()
        shortener.join()
        assert [process.exitcode for process in (shortener, *producers)] == [0, 0, 0]
        assert reader.catalog.position.generation > 1
        for again in (reader, TopicLog(log.directory)):
            assert (read(again), read(again, 1)) == (list(range(15)), list(range(15)))
            assert [again.last_batch(f"p{n}") for n in range(2)] == [14, 14]


def _produce(directory, number, commits):
    """Commits each batch twice, as an application that repeats batches."""
    for i in range(commits):
        log = TopicLog(directory)
        assert append(log, i, partition=number, producer=f"p{number}", batch=i)
        assert not append(log, i, partition=number, producer=f"p{number}", batch=i)


def _shorten(directory, stop):
    log = TopicLog(directory)
    while not stop.is_set():
        log.upkeep.shorten()
