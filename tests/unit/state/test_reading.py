"""Reads of committed state beside a running application see one commit, whatever happens to replicas and objects."""

from __future__ import annotations

import gc
import os
import tempfile
from pathlib import Path

import pytest

from headrace._state.changes.delta import sort_changes
from headrace._state.changes.task_state import TaskState
from headrace._state.log.files import DiskFiles
from headrace._state.log.objects import MissingObjectError, delete
from headrace._state.log.reading import CommittedTasks
from headrace._state.log.state_log import StateLog
from headrace._state.replica.position import ORIGIN
from headrace._state.replica.replica import Replica
from headrace.errors import StateError
from tests.unit.state.test_logged_task import Batches

TASKS = ("0-0", "0-1")


class CountingFiles(DiskFiles):
    """Counts reads of objects, and calls a function before the first of them."""

    def __init__(self, root):
        super().__init__(root, sync=False)
        self.reads = 0
        self.before_reads = []

    def read(self, path, offset=0, length=None):
        if path.startswith("state/"):
            self.reads += 1
            if self.before_reads:
                self.before_reads.pop(0)()
        return super().read(path, offset, length)


class Application(Batches):
    """Batches of two tasks, whose store `s` counts the writes of each task."""

    def __init__(self, directory):
        super().__init__(directory / "state")
        self.replicas = directory / "replicas"
        self.files = CountingFiles(directory / "state")

    def write(self, *names, replicas=None, commit=True, **entries):
        def work(durable):
            with TaskState(durable, Replica((replicas or self.replicas) / durable._task), "task") as state:
                for key, value in entries.items():
                    state.store("s").put(key.encode(), value)
                state.commit()

        self.run(work, *(names or TASKS), commit=commit)

    def open_replicas(self):
        """Applies the last committed delta to the replicas, as the next batch does first."""
        for name in TASKS:
            with TaskState(self.task(name), Replica(self.replicas / name), "task"):
                pass

    def read(self, *names):
        log = StateLog(self.files, "Application 'app'")
        return CommittedTasks.read(log, names or TASKS, self.replicas, "application 'app'")


def contents(read, store="s"):
    return {name: dict(snapshot.reader(store).range(None, None)) for name, snapshot in read.snapshots.items()}


@pytest.fixture
def app(tmp_path):
    yield Application(tmp_path)
    gc.collect()  # closes replicas that failed reads have opened


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The directory of temporary replicas, which are restored for one read."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def test_task_without_state_is_left_out(app, tmp_path):
    assert contents(app.read()) == {}
    app.write("0-1", a=b"1")
    assert contents(app.read()) == {"0-1": {b"a": b"1"}}
    assert contents(app.read("0-0")) == {}
    assert not (tmp_path / "replicas" / "0-0").exists()


def test_log_that_was_never_started_has_no_tasks(tmp_path):
    log = StateLog(DiskFiles(tmp_path), "Application 'app'")
    assert contents(CommittedTasks.read(log, TASKS, tmp_path, "application 'app'")) == {}


def test_up_to_date_replica_is_read_directly(app, temporary):
    app.write(a=b"1")
    app.open_replicas()
    read = app.read()
    assert contents(read) == {name: {b"a": b"1"} for name in TASKS}
    assert (app.files.reads, list(temporary.iterdir())) == (len(TASKS), [])


def test_replica_that_is_behind_gets_the_missing_deltas(app, temporary):
    app.write(a=b"1")
    app.open_replicas()
    app.write(b=b"2", replicas=temporary / "of another machine")
    app.write(c=b"3", replicas=temporary / "of another machine")
    expected = {name: {b"a": b"1", b"b": b"2", b"c": b"3"} for name in TASKS}
    assert contents(app.read()) == expected
    assert app.files.reads == 3 * len(TASKS)
    assert contents(app.read()) == expected
    assert app.files.reads == 4 * len(TASKS)
    assert [path.name for path in temporary.iterdir()] == ["of another machine"]


def test_missing_replica_is_restored_into_a_temporary_directory(app, temporary):
    app.write(a=b"1", replicas=temporary / "of another machine")
    app.write(b=b"2", replicas=temporary / "of another machine")
    read = app.read()
    assert contents(read) == {name: {b"a": b"1", b"b": b"2"} for name in TASKS}
    assert not app.replicas.exists()
    assert len(list(temporary.glob("headrace-*/read-*"))) == len(TASKS)
    del read
    assert list(temporary.glob("headrace-*/read-*")) == []


def test_replica_of_another_history_is_not_changed(app, temporary):
    app.write(a=b"1", replicas=temporary / "of another machine")
    other = ORIGIN.next()
    replica = Replica(app.replicas / "0-0")
    replica.apply(sort_changes({"s": {b"x": b"9"}}), ORIGIN, other)
    assert contents(app.read()) == {name: {b"a": b"1"} for name in TASKS}
    with replica.snapshot() as snapshot:
        assert (snapshot.position, list(snapshot.reader("s").range(None, None))) == (other, [(b"x", b"9")])
    replica.close()


def test_a_replica_that_is_of_no_use_is_tried_once(app, temporary):
    app.write(a=b"1", replicas=temporary / "of another machine")
    replica = Replica(app.replicas / "0-0")
    replica.apply(sort_changes({"s": {b"x": b"9"}}), ORIGIN, ORIGIN.next())
    replica.close()
    assert contents(app.read()) == {name: {b"a": b"1"} for name in TASKS}
    assert app.files.reads == 5  # a head, then a head and a delta of each task


def test_replica_ahead_of_the_commit_is_read_at_the_newer_commit(app):
    app.write(a=b"1")
    app.open_replicas()

    def move_on():
        app.write(b=b"2")
        app.open_replicas()

    app.files.before_reads = [move_on]
    assert contents(app.read()) == {name: {b"a": b"1", b"b": b"2"} for name in TASKS}


def test_all_tasks_are_read_as_of_one_commit(app):
    app.write(a=b"1")
    app.open_replicas()

    def move_on():
        app.write(a=b"2")
        app.open_replicas()

    for reads_before in range(6):
        app.files.before_reads = [lambda: None] * reads_before + [move_on]
        one, two = contents(app.read()).values()
        assert one == two
        app.write(a=b"1")


def test_uncommitted_batch_is_not_read(app):
    app.write(a=b"1")
    app.write(a=b"2", commit=False)
    assert contents(app.read()) == {name: {b"a": b"1"} for name in TASKS}


def test_snapshot_does_not_change_while_batches_run(app):
    app.write(a=b"1")
    read = app.read()
    app.write(a=b"2")
    app.open_replicas()
    assert contents(read) == {name: {b"a": b"1"} for name in TASKS}
    assert contents(app.read()) == {name: {b"a": b"2"} for name in TASKS}


def test_read_is_retried_if_a_superseded_object_was_deleted(app, temporary):
    elsewhere = temporary / "of another machine"
    app.write(a=b"1", replicas=elsewhere)

    def supersede():
        """Copies all blobs into a new object, and deletes the one that the reader is about to read."""
        before = set(app.state.objects)

        def work(durable):
            for version in sorted(durable._index.deltas):
                blob = durable.get_delta(version)
                durable.remove_delta(version)
                durable.put_delta(version, blob)
            durable.put_head(durable.get_head())

        app.run(work, *TASKS)
        assert set(app.state.dead) >= before
        delete(app.log.files, tuple(before))

    for reads_before in range(4):
        app.files.before_reads = [lambda: None] * reads_before + [supersede]
        assert contents(app.read()) == {name: {b"a": b"1"} for name in TASKS}


def test_missing_object_that_the_log_names_is_reported_as_damage(app, tmp_path):
    app.write(a=b"1", replicas=tmp_path / "of another machine")
    (name,) = app.state.objects
    (tmp_path / "state" / "state" / name).unlink()
    with pytest.raises(MissingObjectError) as refused:
        app.read()
    assert str(refused.value) == (
        f"application 'app', task 0-0, head in {name!r}: 'state/{name}' is missing from the state directory. The state "
        "directory is damaged: restore it from a copy, or start over with `headrace reset`."
    )


def test_error_names_an_altered_delta(app, tmp_path):
    app.write("0-0", a=b"1", replicas=tmp_path / "of another machine")
    (name,) = app.state.objects
    path, delta = tmp_path / "state" / "state" / name, app.task("0-0")._index.deltas[1]
    data = bytearray(path.read_bytes())
    data[delta.offset + delta.length - 1] ^= 1
    path.write_bytes(data)
    with pytest.raises(StateError, match=r"^application 'app', task 0-0, delta of version 1 in .*: the checksum is "):
        app.read("0-0")


def test_state_that_is_superseded_at_every_attempt_is_reported(app, temporary):
    """Without retention, objects may be deleted faster than a large state can be read."""
    app.write(a=b"1", replicas=temporary / "of another machine")

    def supersede():
        gone = set(app.state.objects)
        app.run(lambda durable: durable.put_head(durable.get_head()), *TASKS)
        delete(app.log.files, tuple(gone))
        app.files.before_reads.append(supersede)

    app.files.before_reads = [supersede]
    with pytest.raises(StateError, match="state_retention"):
        app.read()


def test_replicas_are_closed_with_the_reader(app):
    app.write(a=b"1")
    app.open_replicas()
    reads = [app.read() for _ in range(20)]
    assert [contents(read) for read in reads] == [{name: {b"a": b"1"} for name in TASKS}] * 20
    del reads
    held = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    assert [path for path in held if path.startswith(str(app.replicas))] == []


def test_concurrent_reads_do_not_change_the_replica(app, temporary):
    app.write(a=b"1")
    app.open_replicas()
    reads = [app.read() for _ in range(200)]
    assert [contents(read) for read in reads] == [{name: {b"a": b"1"} for name in TASKS}] * 200
    assert (app.files.reads, list(temporary.iterdir())) == (200 * len(TASKS), [])
