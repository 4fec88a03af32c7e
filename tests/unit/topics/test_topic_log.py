import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from headrace.errors import TopicError
from headrace.topics import batches as _batches
from headrace.topics.embedded import writer as _writer
from headrace.topics.embedded.log import RECORD_SCHEMA, SegmentRun, TopicLog


@pytest.fixture
def log(tmp_path):
    return TopicLog(tmp_path / "topics")


def batch(values, timestamps=None, **columns):
    """A batch of these values; order columns as lists by name."""
    return pa.record_batch(
        {
            "key": pa.array([f"k{value}".encode() for value in values], pa.binary()),
            "value": pa.array([str(value).encode() for value in values], pa.binary()),
            "timestamp": pa.array(values if timestamps is None else timestamps, pa.int64()),
            **{name: pa.array(column, pa.int64()) for name, column in columns.items()},
        }
    )


def ordered(values, order_ms, source):
    positions = list(range(len(values)))
    zeros = [0] * len(values)
    return batch(values, order_ms=order_ms, source=[source] * len(values), position=positions, hop=zeros, seq=zeros)


def write(log, *parts):
    """The runs of one writer that wrote these (topic, partition, batch)."""
    writer = log.writer()
    for part in parts:
        writer.write(*part)
    return writer.finish()


def values(log, topic="t", partition=0, start=0, end=None):
    end = log.end_offsets(topic)[partition] if end is None else end
    return [int(value) for part in log.read(topic, partition, start, end) for value in part.column("value").to_pylist()]


def log_file(log):
    return log.directory / "commits.log"


def segment_names(log):
    return sorted(path.name for path in log.segments.iterdir())


class TestCommits:
    def test_nothing_exists_before_the_first_write(self, log):
        assert log.topics() == {}
        assert not log.directory.exists()

    def test_records_are_read_back_with_all_columns(self, log):
        log.create("t", 2)
        headers = pa.array([[("a", b"1"), ("b", None)], None], RECORD_SCHEMA.field("headers").type)
        log.commit(write(log, ("t", 1, batch([7, 8], [70, 80]).append_column("headers", headers))))
        (read,) = log.read("t", 1, 0, 2)
        assert read.schema == RECORD_SCHEMA
        assert read.to_pylist() == [
            {
                "key": b"k7",
                "value": b"7",
                "timestamp": 70,
                "headers": [{"key": "a", "value": b"1"}, {"key": "b", "value": None}],
            },
            {"key": b"k8", "value": b"8", "timestamp": 80, "headers": None},
        ]

    def test_headers_that_were_not_written_are_null(self, log):
        log.create("t", 1)
        log.commit(write(log, ("t", 0, batch([1]))))
        (read,) = log.read("t", 0, 0, 1)
        assert read.to_pylist() == [{"key": b"k1", "value": b"1", "timestamp": 1, "headers": None}]

    def test_null_keys_and_values_stay_null(self, log):
        log.create("t", 1)
        nulls = pa.nulls(1, pa.binary())
        log.commit(write(log, ("t", 0, pa.record_batch({"key": nulls, "value": nulls, "timestamp": [3]}))))
        (read,) = log.read("t", 0, 0, 1)
        assert read.to_pylist() == [{"key": None, "value": None, "timestamp": 3, "headers": None}]

    def test_one_commit_adds_records_to_many_topics_atomically(self, log):
        runs = write(log, ("a", 0, batch([1, 2])), ("b", 2, batch([3])), ("a", 1, batch([4])))
        log.commit(runs, create={"a": 2, "b": 3})
        reader = TopicLog(log.directory)
        assert reader.topics() == {"a": 2, "b": 3}
        assert reader.end_offsets("a") == [2, 1]
        assert reader.end_offsets("b") == [0, 0, 1]
        assert values(reader, "b", 2) == [3]

    def test_what_is_not_committed_is_not_visible(self, log):
        log.create("t", 1)
        write(log, ("t", 0, batch([1])))
        assert TopicLog(log.directory).end_offsets("t") == [0]

    def test_any_slice_across_commits(self, log):
        log.create("t", 1)
        for chunk in ([0, 1, 2], [3], [4, 5, 6, 7]):
            log.commit(write(log, ("t", 0, batch(chunk))))
        for start in range(9):
            for end in range(start, 9):
                assert values(log, start=start, end=end) == list(range(start, end))
                assert log.timestamps("t", 0, start, end).tolist() == list(range(start, end))

    def test_a_reader_sees_later_commits_after_a_refresh(self, log):
        log.create("t", 1)
        reader = TopicLog(log.directory)
        assert reader.end_offsets("t") == [0]
        log.commit(write(log, ("t", 0, batch([1]))))
        assert reader.end_offsets("t") == [0]
        reader.refresh()
        assert reader.end_offsets("t") == [1]

    def test_reading_past_the_known_end_refreshes(self, log):
        log.create("t", 1)
        reader = TopicLog(log.directory)
        reader.refresh()
        log.commit(write(log, ("t", 0, batch([1]))))
        assert values(reader, end=1) == [1]

    def test_runs_survive_json_and_pickle(self, log):
        log.create("t", 1)
        runs = write(log, ("t", 0, batch([1])))
        assert pickle.loads(pickle.dumps(runs)) == runs
        assert msgspec.json.decode(msgspec.json.encode(runs), type=list[SegmentRun]) == runs

    def test_extents_are_read_elsewhere_without_the_log(self, log):
        log.create("t", 1)
        for chunk in ([0, 1, 2], [3, 4]):
            log.commit(write(log, ("t", 0, batch(chunk))))
        extents = pickle.loads(pickle.dumps(log.extents("t", 0, 1, 4)))
        elsewhere = TopicLog(log.directory)
        (read,) = elsewhere.read_extents(extents, 1, 4)
        assert read.column("value").to_pylist() == [b"1", b"2", b"3"]
        assert not elsewhere._is_loaded

    def test_an_empty_commit_writes_nothing(self, log):
        log.create("t", 1)
        size = log_file(log).stat().st_size
        assert log.commit(write(log, ("t", 0, batch([]))))
        assert log_file(log).stat().st_size == size
        assert values(log) == []


class TestBoundedBatches:
    @pytest.fixture(autouse=True)
    def small_bounds(self, monkeypatch):
        for module in (_batches, _writer):
            monkeypatch.setattr(module, "MAX_ROWS", 10)
            monkeypatch.setattr(module, "MAX_BYTES", 1000)

    def test_long_runs_are_split_by_rows(self, log):
        log.create("t", 1)
        runs = write(log, ("t", 0, batch(list(range(37)))))
        assert [blob.rows for blob in runs[0].blobs] == [10, 10, 10, 7]
        log.commit(runs)
        assert [part.num_rows for part in log.read("t", 0, 5, 37)] == [5, 10, 10, 7]
        assert values(log) == list(range(37))

    def test_wide_runs_are_split_by_bytes(self, log):
        log.create("t", 1)
        wide = batch(list(range(8))).set_column(1, "value", pa.array([b"x" * 300] * 8, pa.binary()))
        (run,) = write(log, ("t", 0, wide))
        assert [blob.rows for blob in run.blobs] == [3, 3, 2]

    def test_small_writes_share_a_blob(self, log):
        (run,) = write(log, *(("t", 0, batch([i])) for i in range(12)))
        assert [blob.rows for blob in run.blobs] == [10, 2]

    def test_small_commits_are_read_as_one_batch(self, log):
        log.create("t", 1)
        for i in range(12):
            log.commit(write(log, ("t", 0, batch([i]))))
        assert [part.num_rows for part in log.read("t", 0, 0, 12)] == [10, 2]

    def test_memory_of_many_open_partitions_is_bounded(self, log, monkeypatch):
        monkeypatch.setattr(_writer, "_MAX_PENDING_BYTES", 200)
        writer = log.writer()
        for partition in range(20):
            writer.write("t", partition, batch([partition]))
            assert writer._pending_bytes < 200
        log.commit(writer.finish(), create={"t": 20})
        assert [values(log, partition=partition) for partition in range(20)] == [[i] for i in range(20)]

    def test_a_few_rows_do_not_keep_the_batch_they_are_a_slice_of(self, log):
        writer = log.writer()
        large = batch(list(range(10_000)))
        writer.write("t", 0, large.slice(5000, 2))
        (buffered,) = writer._runs["t", 0, 0].buffered
        assert buffered.get_total_buffer_size() < 500
        log.commit(writer.finish(), create={"t": 1})
        assert values(log) == [5000, 5001]

    def test_long_merges_are_right_and_bounded(self, log):
        log.create("t", 1)
        runs = []
        for source in range(3):
            mine = list(range(source, 90, 3))
            runs += write(log, ("t", 0, ordered(mine, mine, source)))
        log.commit(runs)
        for start, end in ((0, 90), (7, 8), (33, 71)):
            parts = list(log.read("t", 0, start, end))
            assert max(part.num_rows for part in parts) <= 10
            assert values(log, start=start, end=end) == list(range(start, end))
            assert log.timestamps("t", 0, start, end).tolist() == list(range(start, end))


class TestMerge:
    def test_offsets_follow_the_order_columns(self, log):
        log.create("t", 1)
        log.commit(write(log, ("t", 0, batch([1000]))))
        late = write(log, ("t", 0, ordered([3, 5, 9], [3, 5, 5], source=1)))
        early = write(log, ("t", 0, ordered([1, 4, 6], [1, 5, 5], source=0)))
        log.commit([*late, *early])
        log.commit(write(log, ("t", 0, batch([2000]))))
        assert values(log) == [1000, 1, 3, 4, 6, 5, 9, 2000]
        assert log.timestamps("t", 0, 0, 8).tolist() == [1000, 1, 3, 4, 6, 5, 9, 2000]
        assert values(log, start=2, end=5) == [3, 4, 6]

    def test_each_order_column_decides_in_turn(self, log):
        rows = [(0, 0, 0, 1, 0), (0, 0, 0, 0, 1), (0, 0, 1, 0, 0), (0, 1, 0, 0, 0), (1, 0, 0, 0, 0), (0, 0, 0, 0, 0)]
        runs = []
        for i, row in enumerate(rows):
            columns = dict(
                zip(["order_ms", "source", "position", "hop", "seq"], ([field] for field in row), strict=True)
            )
            runs += write(log, ("t", 0, batch([i], **columns)))
        log.commit(runs, create={"t": 1})
        assert values(log) == sorted(range(6), key=rows.__getitem__)

    def test_equal_rows_keep_the_order_of_their_runs(self, log):
        runs = [run for i in range(3) for run in write(log, ("t", 0, ordered([i], [0], source=0)))]
        log.commit(runs, create={"t": 1})
        assert values(log) == [0, 1, 2]

    def test_only_some_runs_have_headers(self, log):
        headers = pa.array([[("a", b"1")]], RECORD_SCHEMA.field("headers").type)
        with_headers = write(log, ("t", 0, ordered([1], [1], source=0).append_column("headers", headers)))
        without = write(log, ("t", 0, ordered([0], [0], source=1)))
        log.commit([*with_headers, *without], create={"t": 1})
        (read,) = log.read("t", 0, 0, 2)
        assert read.column("headers").to_pylist() == [None, [{"key": "a", "value": b"1"}]]

    def test_several_runs_without_order_columns_are_refused(self, log):
        runs = [*write(log, ("t", 0, batch([1]))), *write(log, ("t", 0, ordered([2], [2], source=0)))]
        with pytest.raises(TopicError, match="Topic 't', partition 0: 2 runs in one commit can only be merged"):
            log.commit(runs, create={"t": 1})

    def test_one_writer_is_either_ordered_or_not(self, log):
        writer = log.writer()
        writer.write("t", 0, batch([1]))
        with pytest.raises(TopicError, match="either all batches of one writer have order columns, or none"):
            writer.write("t", 0, ordered([1], [1], source=0))


class TestIdempotence:
    def test_a_repeated_batch_is_skipped_and_its_data_removed(self, log):
        log.create("t", 1)
        assert log.commit(write(log, ("t", 0, batch([1]))), producer="query", batch=4)
        kept = segment_names(log)
        for repeated in (4, 3):
            assert not log.commit(write(log, ("t", 0, batch([1]))), producer="query", batch=repeated)
        assert segment_names(log) == kept
        assert values(log) == [1]

    def test_the_next_batch_and_other_producers_are_not_skipped(self, log):
        log.create("t", 1)
        assert log.commit(write(log, ("t", 0, batch([1]))), producer="query", batch=0)
        assert log.commit(write(log, ("t", 0, batch([2]))), producer="query", batch=1)
        assert log.commit(write(log, ("t", 0, batch([3]))), producer="other", batch=0)
        assert values(log) == [1, 2, 3]

    def test_another_process_skips_it_too(self, log):
        log.create("t", 1)
        other = TopicLog(log.directory)
        other.refresh()
        log.commit(write(log, ("t", 0, batch([1]))), producer="query", batch=0)
        assert not other.commit(write(other, ("t", 0, batch([1]))), producer="query", batch=0)

    def test_an_empty_batch_is_remembered(self, log):
        assert log.commit([], producer="query", batch=0)
        assert not TopicLog(log.directory).commit([], producer="query", batch=0)

    def test_repeating_a_commit_with_the_same_runs_keeps_their_data(self, log):
        log.create("t", 1)
        runs = write(log, ("t", 0, batch([1])))
        log.commit(runs, producer="query", batch=0)
        assert not log.commit(runs, producer="query", batch=0)
        log.discard(runs)
        assert values(log) == [1]

    def test_runs_are_committed_once(self, log):
        log.create("t", 1)
        runs = write(log, ("t", 0, batch([1])))
        log.commit(runs)
        with pytest.raises(TopicError, match="already committed"):
            log.commit(runs)
        assert values(log) == [1]

    @pytest.mark.parametrize(("producer", "number"), [("query", None), (None, 1), ("query", -1)])
    def test_a_producer_without_a_batch_or_the_reverse_is_refused(self, log, producer, number):
        with pytest.raises(TopicError, match="a producer and a batch of 0 or more, or neither"):
            log.commit([], producer=producer, batch=number)


class TestCleanUp:
    def test_discard_removes_the_data(self, log):
        log.create("t", 1)
        log.discard(write(log, ("t", 0, batch([1]))))
        assert segment_names(log) == []

    def test_a_failing_writer_removes_its_file(self, log, monkeypatch):
        monkeypatch.setattr(_writer, "_MAX_PENDING_BYTES", 1)
        writer = log.writer()
        writer.write("t", 0, batch([1]))
        assert len(segment_names(log)) == 1
        with pytest.raises(TopicError, match="it needs"), writer:
            writer.write("t", 0, batch([1]).drop_columns("value"))
        assert segment_names(log) == []

    def test_a_failed_commit_leaves_the_data_to_the_log(self, log):
        writer = log.writer()
        writer.write("t", 0, batch([1]))
        with pytest.raises(TopicError, match="does not exist"), writer:
            log.commit(writer.finish())
        assert len(segment_names(log)) == 1

    def test_sweep_removes_old_uncommitted_files(self, log):
        log.create("t", 1)
        log.commit(write(log, ("t", 0, batch([1]))))
        (orphan,) = {run.file for run in write(log, ("t", 0, batch([2])))}
        assert log.upkeep.sweep(older_than_s=3600) == []
        an_hour_ago = time.time() - 3601
        for name in segment_names(log):
            os.utime(log.segments / name, (an_hour_ago, an_hour_ago))
        assert log.upkeep.sweep(older_than_s=3600) == [orphan]
        assert values(TopicLog(log.directory)) == [1]

    def test_sweeping_nothing(self, log):
        assert log.upkeep.sweep(older_than_s=0) == []
        assert not log.directory.exists()

    def test_a_swept_file_cannot_be_committed(self, log):
        log.create("t", 1)
        runs = write(log, ("t", 0, batch([1])))
        log.upkeep.sweep(older_than_s=0)
        with pytest.raises(TopicError, match=r"Cannot commit the records in .*No such file"):
            log.commit(runs)
        assert log.end_offsets("t") == [0]

    def test_a_truncated_file_cannot_be_committed(self, log):
        log.create("t", 1)
        runs = write(log, ("t", 0, batch([1])))
        os.truncate(log.segments / runs[0].file, 10)
        with pytest.raises(TopicError, match="the file has 10 of"):
            log.commit(runs)


class TestTornWrites:
    @pytest.fixture
    def two_commits(self, log):
        log.create("t", 1)
        log.commit(write(log, ("t", 0, batch([1]))))
        good = log_file(log).stat().st_size
        log.commit(write(log, ("t", 0, batch([2]))))
        return log_file(log).read_bytes(), good

    def test_an_unfinished_entry_is_ignored_and_then_replaced(self, log, two_commits):
        data, good = two_commits
        for cut in range(good, len(data)):
            log_file(log).write_bytes(data[:cut])
            reader, writer = TopicLog(log.directory), TopicLog(log.directory)
            assert values(reader) == [1]
            writer.create("u", 1)
            assert values(writer) == [1]
            reader.refresh()
            assert reader.topics() == {"t": 1, "u": 1}

    def test_a_tail_of_zeros_or_noise_is_ignored_and_then_replaced(self, log, two_commits):
        data, good = two_commits
        for tail in (b"\0" * 5000, b"noise\nmore noise", data[good:-9] + b"?" * 9 + b"\n"):
            log_file(log).write_bytes(data[:good] + tail)
            reader = TopicLog(log.directory)
            assert values(reader) == [1]
            writer = TopicLog(log.directory)
            writer.commit(write(writer, ("t", 0, batch([3]))))
            reader.refresh()
            assert values(reader) == [1, 3]

    def test_a_reader_waits_for_an_entry_that_is_being_written(self, log, two_commits):
        data, good = two_commits
        log_file(log).write_bytes(data[:good])
        reader = TopicLog(log.directory)
        for cut in range(good, len(data)):
            log_file(log).write_bytes(data[:cut])
            reader.refresh()
            assert reader.end_offsets("t") == [1]
        log_file(log).write_bytes(data)
        reader.refresh()
        assert values(reader) == [1, 2]

    @pytest.mark.parametrize("change", ["flip", "newline", "cut"])
    def test_damage_before_the_last_entry_is_an_error(self, log, two_commits, change):
        data, good = two_commits
        first = data.index(b"\n") + 1
        damaged = {
            "flip": data[: good - 5] + bytes([data[good - 5] ^ 1]) + data[good - 4 :],
            "newline": data[: good - 1] + b" " + data[good:],
            "cut": data[: good - 5] + data[good:],
        }[change]
        log_file(log).write_bytes(damaged)
        expected = f"commits.log' is damaged at byte {first}: .* Restore the file from a backup"
        with pytest.raises(TopicError, match=expected):
            TopicLog(log.directory).topics()
        with pytest.raises(TopicError, match=expected):
            TopicLog(log.directory).create("u", 1)
        assert log_file(log).read_bytes() == damaged

    def test_damage_found_when_a_known_entry_is_needed_again(self, log, two_commits):
        _, good = two_commits
        with log_file(log).open("r+b") as file:
            file.seek(good + 30)
            file.write(b"?")
        assert values(log, start=0, end=1) == [1]
        with pytest.raises(TopicError, match=f"damaged at byte {good}"):
            values(log)

    def test_damage_of_the_first_entry_is_an_error(self, log, two_commits):
        data, _ = two_commits
        log_file(log).write_bytes(b"?" + data[1:])
        with pytest.raises(TopicError, match="damaged at byte 0"):
            TopicLog(log.directory).topics()

    def test_an_unfinished_first_entry_is_replaced(self, log, two_commits):
        data, _ = two_commits
        for tail in (*(data[:cut] for cut in range(40)), b"\0" * 100, data[:9] + b"\0" * 100):
            log_file(log).write_bytes(tail)
            writer = TopicLog(log.directory)
            writer.create("u", 1)
            assert writer.topics() == {"u": 1}

    def test_a_file_of_another_program_is_left_alone(self, tmp_path):
        (tmp_path / "commits.log").write_text("2024-01-01 commit abc\n")
        with pytest.raises(TopicError, match="is not a commit log"):
            TopicLog(tmp_path).create("t", 1)
        assert (tmp_path / "commits.log").read_text() == "2024-01-01 commit abc\n"

    def test_a_replaced_log_is_noticed(self, log, two_commits):
        data, good = two_commits
        os.truncate(log_file(log), good)
        with pytest.raises(TopicError, match="deleted, replaced or shortened"):
            log.refresh()
        log_file(log).rename(log.directory / "kept")
        with pytest.raises(TopicError, match="deleted, replaced or shortened"):
            log.refresh()
        log_file(log).write_bytes(data + b" " * 100)
        with pytest.raises(TopicError, match="deleted, replaced or shortened"):
            log.create("u", 1)

    def test_a_full_disk_commits_nothing(self, log, two_commits, monkeypatch):
        data, _ = two_commits
        real = os.pwrite

        def half_then_full(descriptor, payload, position):
            if len(payload) < 20:
                raise OSError(28, "No space left on device")
            return real(descriptor, payload[: len(payload) // 2], position)

        runs = write(log, ("t", 0, batch([3])))
        monkeypatch.setattr(os, "pwrite", half_then_full)
        with pytest.raises(TopicError, match=r"Cannot append to .*: the disk mounted at .* is full"):
            log.commit(runs)
        monkeypatch.undo()
        assert log_file(log).read_bytes() == data
        assert log.commit(runs)
        assert values(log) == [1, 2, 3]

    def test_repeating_a_commit_of_unknown_outcome_is_safe(self, log, two_commits, monkeypatch):
        runs = write(log, ("t", 0, batch([3])))

        def fail(descriptor):
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(TopicError, match="Input/output error"):
            log.commit(runs, producer="query", batch=0)
        monkeypatch.undo()
        log.commit(runs, producer="query", batch=0)
        assert values(log) == [1, 2, 3]

    @pytest.mark.parametrize("payload", [b'{"format":4,"new":[]}', b'{"format":4,"runs":"elsewhere"}'])
    def test_a_newer_format_is_refused(self, log, payload):
        log.create("t", 1)
        with log.journal.exclusive():
            log.journal.append(log.catalog.position, payload)
        with pytest.raises(
            TopicError, match=r"newer version of Headrace \(format 4\); this version reads formats 1 to 3: upgrade"
        ):
            log.refresh()
        with pytest.raises(
            TopicError, match=r"newer version of Headrace \(format 4\); this version reads formats 1 to 3: upgrade"
        ):
            log.refresh()


class TestDamagedData:
    @pytest.fixture
    def files(self, log):
        """Three commits of two records; returns their files."""
        log.create("t", 2)
        files = []
        for i in range(3):
            runs = write(log, ("t", 1, batch([2 * i, 2 * i + 1])))
            log.commit(runs)
            files.append(log.segments / runs[0].file)
        return files

    def check_second_commit_is_lost(self, log, file, reason):
        expected = (
            rf"^Topic 't', partition 1: the records at offsets 2 to 3 cannot be read from '{file}': {reason}.* "
            "Restore the file from a backup, or read from offset 4 on"
        )
        with pytest.raises(TopicError, match=expected):
            values(log, partition=1)
        with pytest.raises(TopicError, match=expected):
            log.timestamps("t", 1, 3, 4)
        assert values(log, partition=1, start=0, end=2) == [0, 1]
        assert values(log, partition=1, start=4) == [4, 5]
        log.commit(write(log, ("t", 1, batch([9]))))
        assert values(log, partition=1, start=4) == [4, 5, 9]

    def test_a_missing_file(self, log, files):
        files[1].unlink()
        self.check_second_commit_is_lost(log, files[1], "No such file or directory")

    def test_a_truncated_file(self, log, files):
        os.truncate(files[1], 100)
        self.check_second_commit_is_lost(log, files[1], "100 of [0-9]+ bytes are left at byte 0")

    def test_a_flipped_bit(self, log, files):
        data = bytearray(files[1].read_bytes())
        data[len(data) // 2] ^= 4
        files[1].write_bytes(data)
        self.check_second_commit_is_lost(log, files[1], "wrong checksum of [0-9]+ bytes at byte 0")

    def test_damage_in_one_of_several_runs_names_the_whole_commit(self, log, files):
        runs = [*write(log, ("t", 0, ordered([1], [1], 0))), *write(log, ("t", 0, ordered([2], [2], 1)))]
        log.commit(runs)
        (log.segments / runs[1].file).unlink()
        with pytest.raises(TopicError, match=f"partition 0: the records at offsets 0 to 1 .*{runs[1].file}"):
            values(log)


class TestRefusals:
    def test_a_file_is_not_a_topics_directory(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(TopicError, match="is a file, not a topics directory"):
            TopicLog(tmp_path / "file")

    def test_an_address_is_not_a_topics_directory(self):
        with pytest.raises(TopicError, match="'s3://bucket/topics' is not a local directory"):
            TopicLog("s3://bucket/topics")

    def test_a_directory_that_cannot_be_created(self, tmp_path):
        (tmp_path / "file").write_text("")
        log = TopicLog(tmp_path / "file" / "topics")
        with pytest.raises(TopicError, match=r"Cannot create the topics directory .*Not a directory"):
            log.create("t", 1)

    @pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "é", "a" * 250, "a\n", None])
    def test_names_kafka_refuses(self, log, name):
        with pytest.raises(TopicError, match="is not a topic name: it needs 1 to 249"):
            log.create(name, 1)

    @pytest.mark.parametrize("name", ["a", "a" * 249, "A.b_c-9", "..."])
    def test_names_kafka_accepts(self, log, name):
        log.create(name, 1)
        assert log.topics() == {name: 1}

    @pytest.mark.parametrize("partitions", [0, -1, 1.5, "2", True, None])
    def test_numbers_of_partitions(self, log, partitions):
        with pytest.raises(TopicError, match="pass an integer of 1 or more"):
            log.create("t", partitions)

    def test_creating_a_topic_again(self, log):
        log.create("t", 2)
        with pytest.raises(TopicError, match="already exists, with 2 partitions; pass exist_ok=True"):
            log.create("t", 2)
        log.create("t", 2, exist_ok=True)
        with pytest.raises(TopicError, match="cannot be created with 3 partitions: it exists with 2"):
            log.create("t", 3, exist_ok=True)
        assert log.topics() == {"t": 2}

    def test_a_commit_that_creates_keeps_what_exists(self, log):
        log.create("t", 2)
        log.commit(write(log, ("t", 1, batch([1]))), create={"t": 2, "u": 1})
        assert log.topics() == {"t": 2, "u": 1}
        with pytest.raises(TopicError, match="it exists with 2"):
            log.commit([], create={"t": 1})

    def test_unknown_topics_and_partitions(self, log):
        log.create("clicks", 2)
        with pytest.raises(TopicError, match=r"'click' does not exist. Did you mean 'clicks'. Known topics: 'clicks'"):
            log.end_offsets("click")
        with pytest.raises(TopicError, match="'click' does not exist"):
            log.commit(write(log, ("click", 0, batch([1]))))
        with pytest.raises(TopicError, match="'clicks' has no partition 2; it has 2, counted from 0"):
            log.commit(write(log, ("clicks", 2, batch([1]))))
        with pytest.raises(TopicError, match="'new' has no partition 1; it has 1"):
            log.commit(write(log, ("new", 1, batch([1]))), create={"new": 1})
        with pytest.raises(TopicError, match="no partition -1"):
            log.read("clicks", -1, 0, 0)
        assert log.topics() == {"clicks": 2}

    @pytest.mark.parametrize(("start", "end"), [(-1, 0), (0, 2), (1, 0)])
    def test_offsets_beyond_the_end_are_refused(self, log, start, end):
        log.create("t", 1)
        log.commit(write(log, ("t", 0, batch([1]))))
        with pytest.raises(
            TopicError,
            match=f"cannot read offsets from {start} up to {end}, because the partition ends before offset 1",
        ):
            log.read("t", 0, start, end)

    def test_batches_with_wrong_columns_are_refused(self, log):
        writer = log.writer()
        with pytest.raises(TopicError, match="has the columns 'key', 'timestamp'; it needs"):
            writer.write("t", 0, batch([1]).drop_columns("value"))
        with pytest.raises(TopicError, match="either none or all of 'hop', 'order_ms'"):
            writer.write("t", 0, batch([1], order_ms=[1]))
        with pytest.raises(TopicError, match="columns of other types than key: binary"):
            writer.write("t", 0, batch([1]).set_column(0, "key", pa.array([1])))
        with pytest.raises(TopicError, match="1 nulls in its column 'timestamp'"):
            writer.write("t", 0, batch([1], [None]))


class TestConcurrency:
    def test_processes_write_while_others_read(self, log):
        log.create("t", 2)
        context = multiprocessing.get_context("spawn")
        producers = [context.Process(target=_produce, args=(log.directory, n, 25)) for n in range(2)]
        for process in producers:
            process.start()
        reader = TopicLog(log.directory)
        while any(process.is_alive() for process in producers):
            reader.refresh()
            for partition, end in enumerate(reader.end_offsets("t")):
                assert len(values(reader, partition=partition, end=end)) == end
        assert [process.exitcode for process in producers] == [0, 0]
        reader.refresh()
        assert values(reader, partition=0) == list(range(50))
        assert values(reader, partition=1) == list(range(50))

    def test_threads_share_one_log(self, log):
        log.create("t", 1)

        def produce(first):
            for i in range(20):
                log.commit(write(log, ("t", 0, batch([first + i]))))
                log.refresh()
                log.topics()

        threads = [threading.Thread(target=produce, args=(100 * n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(values(log)) == [100 * n + i for n in range(3) for i in range(20)]

    def test_killed_producers_lose_nothing_they_acknowledged(self, log):
        log.create("t", 1)
        generator = np.random.default_rng(7)
        acknowledged = []
        for life in range(4):
            producer = subprocess.Popen(
                [sys.executable, "-c", _ENDLESS_PRODUCER, log.directory, str(1_000_000 * life)],
                stdout=subprocess.PIPE,
                text=True,
            )
            assert producer.stdout.readline() == "ready\n"
            acknowledged += [int(producer.stdout.readline()) for _ in range(generator.integers(1, 40))]
            producer.send_signal(signal.SIGKILL)
            acknowledged += [int(line) for line in producer.stdout]
            producer.stdout.close()
            producer.wait()
            reader = TopicLog(log.directory)
            stored = values(reader)
            assert len(set(stored)) == len(stored)
            missing = {first + i for first in acknowledged for i in range(10)} - set(stored)
            assert missing == set()
            assert len(stored) <= 10 * (len(acknowledged) + life + 1)
        log.commit(write(log, ("t", 0, batch([-1]))))
        assert values(log)[-1] == -1
        log.upkeep.sweep(older_than_s=0)
        assert len(segment_names(log)) == len(log.catalog.files)


def _produce(directory, producer, commits):
    log = TopicLog(directory)
    for i in range(commits):
        records = batch([2 * i, 2 * i + 1])
        log.commit(write(log, ("t", producer, records)))


_ENDLESS_PRODUCER = """
import os, sys
import pyarrow as pa
from headrace.topics.embedded.log import TopicLog
log = TopicLog(sys.argv[1])
first = int(sys.argv[2])
os.write(1, b"ready\\n")
while True:
    numbers = list(range(first, first + 10))
    values = pa.array([str(number).encode() for number in numbers], pa.binary())
    writer = log.writer()
    writer.write("t", 0, pa.record_batch({"key": values, "value": values, "timestamp": pa.array(numbers)}))
    log.commit(writer.finish())
    os.write(1, b"%d\\n" % first)
    first += 10
"""
