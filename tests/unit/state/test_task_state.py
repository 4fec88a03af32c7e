import lmdb
import pytest

from headrace._state.changes import task_state
from headrace._state.changes.compaction import CompactionPolicy
from headrace._state.changes.delta import encode_columns, sort_changes
from headrace._state.changes.durable import MemoryDurable
from headrace._state.changes.head import Head
from headrace._state.changes.task_state import TaskState, apply_last_delta
from headrace._state.replica.replica import Replica
from headrace.errors import ProcessingError, StateError

DESCRIBE = "application 'clicks', stage 1, task 3"


def encoded(changes):
    return encode_columns(sort_changes(changes))


class Recorder(MemoryDurable):
    """Durable state that records the name of every call."""

    def __init__(self):
        self.calls = []
        super().__init__()

    def __getattribute__(self, name):
        if name.startswith(("get_", "put_", "remove_")):
            self.calls.append(name)
        return super().__getattribute__(name)

    def take(self):
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def durable():
    return Recorder()


@pytest.fixture
def task(durable, tmp_path):
    def make(directory="replica", **options):
        return TaskState(durable, Replica(tmp_path / directory, map_size=1 << 22), DESCRIBE, **options)

    return make


def write(state, **entries):
    with state:
        for key, value in entries.items():
            state.store("s").put(key.encode(), value)
        state.commit()


def read(state):
    with state:
        return dict(state.store("s").range(None, None))


def test_a_batch_needs_three_calls_of_durable_state(durable, task):
    write(task(), a=b"1")
    durable.take()
    write(task(), b=b"2")
    assert durable.take() == ["get_head", "put_delta", "put_head"]
    assert read(task()) == {b"a": b"1", b"b": b"2"}
    assert durable.take() == ["get_head"]


def test_a_batch_that_changes_nothing_writes_nothing(durable, task):
    with task() as state:
        assert state.store("s").get(b"a") is None
        state.commit()
    assert durable.take() == ["get_head"]
    assert durable.head is None


def test_another_process_reads_the_delta_from_durable_state(durable, task):
    write(task(), a=b"1")
    task_state._recent_deltas.clear()
    durable.take()
    assert read(task()) == {b"a": b"1"}
    assert durable.take() == ["get_head", "get_delta"]


def test_a_replica_that_is_behind_catches_up_with_the_missing_deltas(durable, task):
    write(task("one"), a=b"1")
    read(task("two"))
    write(task("one"), b=b"2")
    write(task("one"), c=b"3")
    durable.take()
    assert read(task("two")) == {b"a": b"1", b"b": b"2", b"c": b"3"}
    assert durable.take() == ["get_head", "get_delta", "get_delta"]


def test_a_replica_can_be_brought_up_to_date_before_the_next_batch(durable, task, tmp_path):
    write(task(), a=b"1")
    write(task(), b=b"2")
    replica = Replica(tmp_path / "replica", map_size=1 << 22)
    apply_last_delta(replica)
    with replica.snapshot() as snapshot:
        assert snapshot.position == Head.decode(durable.head, DESCRIBE).position
        assert dict(snapshot.reader("s").range(None, None)) == {b"a": b"1", b"b": b"2"}
    replica.close()
    durable.take()
    apply_last_delta(Replica(tmp_path / "replica", map_size=1 << 22))
    assert read(task()) == {b"a": b"1", b"b": b"2"}
    assert durable.take() == ["get_head"]


def test_a_delta_applied_before_its_batch_failed_is_undone_by_a_restore(durable, task, tmp_path):
    write(task(), a=b"1")
    durable.commit()
    write(task(), a=b"2")
    durable.rollback()
    apply_last_delta(Replica(tmp_path / "replica", map_size=1 << 22))
    assert read(task()) == {b"a": b"1"}


def test_changes_of_an_uncommitted_batch_are_discarded(durable, task):
    write(task(), a=b"1")
    durable.commit()
    write(task(), a=b"2", b=b"2")
    durable.rollback()
    assert read(task()) == {b"a": b"1"}
    write(task(), a=b"3")
    assert read(task()) == {b"a": b"3"}


def test_replica_of_another_history_is_rebuilt(durable, task, tmp_path):
    write(task(), a=b"1")
    read(task())
    other = MemoryDurable()
    with TaskState(other, Replica(tmp_path / "replica", map_size=1 << 22), DESCRIBE) as state:
        assert dict(state.store("s").range(None, None)) == {}
    assert read(task()) == {b"a": b"1"}


def test_replica_that_another_process_keeps_changing_is_reported(durable, task, monkeypatch):
    write(task(), a=b"1")
    monkeypatch.setattr(Replica, "apply", lambda self, delta, before, after: False)
    with pytest.raises(StateError, match=r"task 3: another process changed the local copy in .* to version 1"):
        read(task("other"))


def test_replica_that_fails_during_a_read_is_wiped(task, tmp_path):
    write(task(), a=b"1")
    with pytest.raises(ProcessingError), task():
        raise ProcessingError("operator 'count'") from lmdb.CorruptedError()
    assert list((tmp_path / "replica").glob("live-*")) == []
    assert read(task()) == {b"a": b"1"}


def flip(blob):
    return blob[:-3] + bytes([blob[-3] ^ 1]) + blob[-2:]


def test_error_names_a_damaged_head(durable, task):
    write(task(), a=b"1")
    durable.head = flip(durable.head)
    with pytest.raises(StateError, match=r"^application 'clicks', stage 1, task 3, head: the checksum is"):
        read(task())


def test_error_names_a_damaged_delta_and_the_replica_is_not_changed(durable, task):
    write(task("one"), a=b"1")
    read(task("two"))
    write(task("one"), b=b"2")
    durable.deltas[2] = flip(durable.deltas[2])
    for directory in ("two", "three"):
        with pytest.raises(StateError, match=r"stage 1, task 3, delta of version 2: the checksum is"):
            read(task(directory))


def test_error_names_a_damaged_slice(durable, task):
    policy = CompactionPolicy(min_delta_bytes=1, max_deltas=0)
    write(task(policy=policy), a=b"1")
    write(task(policy=policy), b=b"2")
    durable.slices[1] = flip(durable.slices[1])
    with pytest.raises(StateError, match=r"stage 1, task 3, slice 1 of version 1: the checksum is"):
        read(task("other"))


def test_format_of_a_later_version_is_refused(durable, task):
    write(task(), a=b"1")
    durable.head = b"\x02" + durable.head[1:]
    with pytest.raises(
        StateError, match=r"task 3, head: the stored blob was written by a newer version .*\(format 2\)"
    ):
        read(task())


@pytest.mark.parametrize("name", ["", "a\x00b"])
def test_invalid_store_name_is_refused(task, name):
    with task() as state, pytest.raises(StateError, match=r"task 3: .* is not a valid store name"):
        state.store(name)


def test_use_of_state_that_is_not_open_is_refused(task):
    with pytest.raises(StateError, match=r"task 3: the state is not open"):
        task().store("s")


def test_store_that_the_topology_no_longer_has_is_preserved(durable, task):
    policy = CompactionPolicy(min_delta_bytes=1, max_deltas=1)
    with task() as state:
        state.store("old").put(b"k", b"v")
        state.commit()
    for i in range(10):
        write(task(policy=policy), **{f"k{i}": b"v"})
    assert 1 not in durable.deltas
    with task("fresh") as state:
        assert state.store("old").get(b"k") == b"v"


def test_positions_never_repeat(durable, task):
    seen = set()
    for _ in range(3):
        write(task(), a=b"1")
        seen.add(Head.decode(durable.head, "x").position)
        durable.rollback()
    assert len(seen) == 3
    assert {position.version for position in seen} == {1}


def test_large_delta_is_applied_to_the_replica_in_one_step(durable, task):
    entries = {b"%d" % i: bytes(8) for i in range(20_000)}
    with task() as state:
        state.store("s").put_many(entries.items())
        state.commit()
    assert durable.deltas[1] == encoded({"s": entries}).blob
    assert read(task()) == entries
