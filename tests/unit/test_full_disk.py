"""A full disk: the error names the disk, the file and what to do; with free space the same call succeeds."""

from __future__ import annotations

import errno
import re
import subprocess
import sys

import pyarrow as pa
import pytest

from headrace import LocalTopics, Record
from headrace._files import full_disk
from headrace._state.changes.durable import MemoryDurable
from headrace._state.changes.task_state import TaskState
from headrace._state.log.files import DiskFiles
from headrace._state.log.objects import ObjectWriter
from headrace._state.replica.replica import Replica
from headrace.errors import StateError, TopicError
from headrace.topics.embedded.log import TopicLog
from tests.support.small_disk import SIZE, fill, free, small_disk


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


def is_full(disk, path, *, needed=""):
    """The pattern of the message for a file on the full disk."""
    return (
        f"Cannot .* {re.escape(repr(str(path)))[:-1]}.*: the disk mounted at {re.escape(repr(str(disk)))} is full: "
        rf"[0-9,]+ of {SIZE:,} bytes are free{needed}. Free space on it, or enlarge it"
    )


def write(state, key, value):
    with state:
        state.store("s").put(key, value)
        state.commit()


def test_local_dir_that_fills_up_is_named_and_the_task_continues_when_there_is_space(disk):
    durable = MemoryDurable()

    def task():
        return TaskState(durable, Replica(disk / "replica", map_size=1 << 24), "task 3")

    write(task(), b"a", bytes(300_000))
    write(task(), b"b", bytes(300_000))
    fill(disk)
    with pytest.raises(StateError, match=is_full(disk, disk / "replica")), task():
        pass
    free(disk)
    with task() as state:
        assert dict(state.store("s").range(None, None)) == {b"a": bytes(300_000), b"b": bytes(300_000)}


_OPEN_REPLICA = """
import sys
from pathlib import Path
from headrace._state.replica.position import ORIGIN
from headrace._state.replica.replica import Replica
from headrace.errors import StateError
replica = Replica(Path(sys.argv[1]), map_size=1 << 24)
for act in (replica.snapshot, lambda: replica.reset(ORIGIN.next(), lambda target: None)):
    try:
        act()
    except StateError as error:
        print(error)
"""


@pytest.mark.parametrize("leave", [0, 8192])
def test_new_replica_on_a_full_disk_is_an_error_not_the_death_of_the_process(disk, leave):
    fill(disk, leave=leave)
    script = [sys.executable, "-c", _OPEN_REPLICA, str(disk / "replica")]
    ended = subprocess.run(script, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended
    messages = ended.stdout.splitlines()
    assert len(messages) == 2
    for message in messages:
        assert re.match(is_full(disk, disk / "replica"), message), message


def test_state_dir_that_is_full_is_named_with_the_bytes_needed(disk):
    files = DiskFiles(disk)
    files.make_directory("state")
    files.make_directory("log")
    fill(disk)
    too_large = is_full(disk, disk / "state", needed=", 1,000,000 are needed")
    with ObjectWriter(files, 1, 0, "fused") as writer:
        with pytest.raises(StateError, match=too_large) as failure:
            writer.append(bytes(1_000_000))
        writer.__exit__(None, failure.value, None)
    with pytest.raises(StateError, match=is_full(disk, disk / "log" / "1", needed=", 9,000 are needed")):
        files.publish("log/1", bytes(9_000))
    assert files.list("log") == files.list("state") == []
    free(disk)
    assert files.publish("log/1", bytes(9_000))


def test_topics_directory_that_is_full_is_named_and_keeps_what_it_has(disk):
    topics = LocalTopics(disk / "topics")
    topics.create("t", partitions=1)
    topics.produce("t", [Record("a", 1, 1)])
    fill(disk)
    large = [Record("b", "x" * 50_000, i) for i in range(20)]
    with pytest.raises(TopicError, match=is_full(disk, disk / "topics" / "segments", needed=", [0-9,]+ are needed")):
        topics.produce("t", large)
    assert [record.value for record in topics.read("t")] == [1]
    assert len(list((disk / "topics" / "segments").iterdir())) == 1
    free(disk)
    topics.produce("t", large)
    assert len(topics.read("t")) == 21


def test_commit_log_that_does_not_fit_is_named(disk):
    log = TopicLog(disk / "topics")
    log.create("t", 1)
    writer = log.writer()
    nulls = pa.nulls(1, pa.binary())
    writer.write("t", 0, pa.record_batch({"key": nulls, "value": nulls, "timestamp": [3]}))
    runs = writer.finish()
    create = {f"{'long' * 50}{i}": 1 for i in range(100)}
    fill(disk)
    with pytest.raises(TopicError, match=is_full(disk, disk / "topics" / "commits.log", needed=", [0-9,]+ are needed")):
        log.commit(runs, create=create)
    free(disk)
    assert log.commit(runs, create=create)
    assert TopicLog(disk / "topics").end_offsets("t") == [1]


def test_quota_is_told_from_a_full_disk(tmp_path):
    exceeded = full_disk(OSError(errno.EDQUOT, "Disk quota exceeded"), tmp_path / "missing" / "file", 12_345)
    assert exceeded is not None
    assert exceeded.startswith("your quota on the disk mounted at '/")
    assert "12,345 are needed" in exceeded
    assert full_disk(OSError(errno.EACCES, "Permission denied"), tmp_path) is None
