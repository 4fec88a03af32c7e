"""The state of a task in objects: it equals durable state in memory, and every byte of an object is accounted for."""

from __future__ import annotations

import random

import msgspec
import pytest

from headrace._state.bytes.envelope import seal
from headrace._state.changes.compaction import CompactionPolicy
from headrace._state.changes.durable import MemoryDurable
from headrace._state.changes.task_state import TaskState
from headrace._state.log.entries import Commit, Location, ObjectUse, Start
from headrace._state.log.files import DiskFiles
from headrace._state.log.objects import ObjectWriter
from headrace._state.log.state_log import StateLog
from headrace._state.log.task import LoggedTask, WrittenState
from headrace._state.replica.replica import Replica
from headrace.errors import StateError

DESCRIBE = "application 'app', task 0_0"


class Batches:
    """Runs batches of tasks on a state log; writes of a batch take effect only if it commits."""

    def __init__(self, directory):
        self.log = StateLog(DiskFiles(directory, sync=False), "Application 'app'")
        self.view = self.log.start(None, Start("app", "an instance", 0, 1))

    @property
    def state(self):
        return self.view.state

    def task(self, name="0-0", writer=None):
        return LoggedTask(self.log.files, writer, name, self.state.heads.get(name), DESCRIBE)

    def run(self, work, *names, commit=True):
        """Runs a batch: calls `work` with the durable state of each task."""
        written = WrittenState()
        with ObjectWriter(self.log.files, 1, self.state.batch + 1, "fused") as writer:
            for name in names or ("0-0",):
                durable = self.task(name, writer)
                work(durable)
                written.add(durable.written)
            written.objects.update(writer.finish())
        if commit:
            batch = self.state.batch + 1
            entry = Commit(batch, batch, {}, None, written.heads, written.objects, written.freed)
            self.view = self.log.commit(self.view, entry)
        return written

    def needed(self):
        """The number of bytes of every object that heads refer to."""
        found = {}
        for name, head in self.state.heads.items():
            index = self.task(name)._index
            for location in (head, *index.deltas.values(), *index.slices.values()):
                found[location.object] = found.get(location.object, 0) + location.length
        return {name: length for name, length in found.items() if length}


@pytest.fixture
def batches(tmp_path):
    return Batches(tmp_path / "state")


class Pair:
    """Makes the same calls on both kinds of durable state, and checks that they return the same."""

    def __init__(self, batches):
        self.batches = batches
        self.memory = MemoryDurable()

    def run(self, work, *, commit=True):
        answers = []
        self.batches.run(lambda durable: answers.append(work(durable)), commit=commit)
        assert answers == [work(self.memory)]
        self.memory.commit() if commit else self.memory.rollback()
        return answers[0]


@pytest.fixture
def both(batches):
    return Pair(batches)


def put(durable):
    durable.put_delta(1, seal(b"first"))
    durable.put_slice(1, seal(b"a slice"))
    durable.put_delta(2, seal(b"second"))
    durable.put_head(b"a head")


def test_task_that_was_never_written_has_no_head(both):
    assert both.run(lambda durable: durable.get_head()) is None


def test_puts_are_readable_in_the_batch_and_after_it(both):
    def get(durable):
        return durable.get_head(), durable.get_delta(1), durable.get_slice(1), durable.get_delta(2)

    both.run(lambda durable: put(durable))
    assert both.run(get) == (b"a head", seal(b"first"), seal(b"a slice"), seal(b"second"))


def test_replaced_and_removed_blobs_are_replaced_and_removed_after_the_batch(both):
    def change(durable):
        durable.put_slice(2, seal(b"another slice"))
        durable.remove_delta(1)
        durable.remove_slice(1)
        durable.put_head(b"another head")

    both.run(put)
    both.run(change)
    assert both.run(lambda durable: (durable.get_head(), durable.get_delta(2), durable.get_slice(2))) == (
        b"another head",
        seal(b"second"),
        seal(b"another slice"),
    )
    assert sorted(both.memory.deltas) == sorted(both.batches.task()._index.deltas) == [2]
    assert sorted(both.memory.slices) == sorted(both.batches.task()._index.slices) == [2]


def test_uncommitted_batch_changes_nothing(both):
    def change(durable):
        durable.remove_delta(1)
        durable.put_delta(3, seal(b"third"))
        durable.put_head(b"another head")

    both.run(put)
    both.run(change, commit=False)
    assert both.run(lambda durable: (durable.get_head(), durable.get_delta(1))) == (b"a head", seal(b"first"))
    assert sorted(both.memory.deltas) == sorted(both.batches.task()._index.deltas) == [1, 2]


def test_task_that_only_reads_writes_nothing(batches):
    batches.run(put)
    assert batches.run(lambda durable: durable.get_delta(1)) == WrittenState()


def test_written_state_has_locations_of_heads_and_freed_bytes(batches):
    batches.run(put)
    before = batches.state
    (old,) = before.objects
    assert before.objects[old].live == before.objects[old].size
    head = before.heads["0-0"]

    def change(durable):
        durable.remove_delta(1)
        durable.put_head(b"another head")

    written = batches.run(change)
    (new,) = written.objects
    assert written.heads == {"0-0": Location(new, 0, written.objects[new].size)}
    assert written.freed == {old: len(seal(b"first")) + head.length}
    assert batches.state.objects[old].live == before.objects[old].live - written.freed[old]


def test_changes_of_several_writers_add_up():
    one = WrittenState({"0-0": Location("a", 0, 5)}, {"a": ObjectUse(5, 5)}, {"old": 3, "older": 1})
    one.add(WrittenState({"0-1": Location("b", 0, 6)}, {"b": ObjectUse(6, 6)}, {"old": 4}))
    assert one == WrittenState(
        {"0-0": Location("a", 0, 5), "0-1": Location("b", 0, 6)},
        {"a": ObjectUse(5, 5), "b": ObjectUse(6, 6)},
        {"old": 7, "older": 1},
    )
    assert msgspec.json.decode(msgspec.json.encode(one), type=WrittenState) == one


@pytest.mark.parametrize("seed", range(5))
def test_objects_are_dead_exactly_when_no_task_needs_a_byte_of_them(batches, tmp_path, seed):
    rng, names = random.Random(seed), [f"0-{number}" for number in range(3)]
    policy = CompactionPolicy(min_delta_bytes=200, max_deltas=4, min_step_bytes=100, max_removals=2)
    models = {name: {} for name in names}
    seen = set()
    for _ in range(40):
        commits, changed = rng.random() < 0.8, {}
        chosen = rng.sample(names, rng.randint(1, 3))

        def work(durable, changed=changed):
            entries = {
                b"%d" % rng.randrange(30): rng.choice([None, rng.randbytes(20)]) for _ in range(rng.randrange(5))
            }
            replica = Replica(tmp_path / "replicas" / durable._task, map_size=1 << 22)
            with TaskState(durable, replica, DESCRIBE, policy=policy) as state:
                assert dict(state.store("s").range(None, None)) == models[durable._task]
                for key, value in entries.items():
                    state.store("s").put(key, value) if value else state.store("s").delete(key)
                state.commit()
                changed[durable._task] = dict(state.store("s").range(None, None))

        batches.run(work, *chosen, commit=commits)
        if commits:
            models.update(changed)
        seen |= set(batches.state.objects)
        assert {name: use.live for name, use in batches.state.objects.items()} == batches.needed()
        assert set(batches.state.dead) == seen - set(batches.state.objects)
    assert batches.log.view() == batches.view


def test_replaced_blobs_of_one_batch_are_accounted_for(batches):
    def twice(durable):
        durable.put_head(b"a head")
        durable.put_head(b"another head")

    batches.run(twice)
    assert batches.task().get_head() == b"another head"
    assert {name: use.live for name, use in batches.state.objects.items()} == batches.needed()


def test_error_names_a_missing_delta_and_its_object(batches):
    batches.run(put)
    (name,) = batches.state.objects
    durable = batches.task()
    batches.log.files.delete(f"state/{name}")
    with pytest.raises(StateError) as refused:
        durable.get_delta(2)
    assert str(refused.value) == (
        f"{DESCRIBE}, delta of version 2 in {name!r}: 'state/{name}' is missing from the state directory. The state "
        "directory is damaged: restore it from a copy, or start over with `headrace reset`."
    )
    with pytest.raises(StateError, match=rf"^{DESCRIBE}, head in '{name}': 'state/{name}' is missing"):
        batches.task()


def test_error_names_a_delta_that_was_never_put(batches):
    batches.run(put)
    with pytest.raises(StateError) as refused:
        batches.task().get_delta(3)
    assert str(refused.value) == (
        f"{DESCRIBE}: delta of version 3 is missing, though the head names it; the state is damaged."
    )


def test_error_names_an_altered_head_and_its_object(batches, tmp_path):
    batches.run(put)
    head = batches.state.heads["0-0"]
    path = tmp_path / "state" / "state" / head.object
    data = bytearray(path.read_bytes())
    data[head.offset + 7] ^= 1
    path.write_bytes(data)
    with pytest.raises(StateError, match=rf"^{DESCRIBE}, head in '{head.object}': the checksum is "):
        batches.task()
