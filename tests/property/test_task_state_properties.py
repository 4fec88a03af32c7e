"""The state of a task is the sum of its committed batches, whatever happens to other batches or to the replica.

Random batches over several stores, with keys that LMDB cannot store directly, are aborted, repeated, and run on
replicas that were deleted, damaged, replaced by an older copy, or belong to another machine. After every step, the
state equals a plain dict, both with the replica and restored from durable state alone.
"""

import shutil
import subprocess
import sys
import tempfile
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace._state.changes import task_state
from headrace._state.changes.compaction import CompactionPolicy
from headrace._state.changes.durable import MemoryDurable
from headrace._state.changes.head import Head
from headrace._state.changes.task_state import TaskState
from headrace._state.replica.replica import Replica
from tests.support.dose import examples

STORES = ("a", "ab", "b\u00e9")
DESCRIBE = "application 'test', stage 1, task 0"
MAP_SIZE = 1 << 24

_LONG = b"L" * 511
_KEYS = st.one_of(
    st.sampled_from([b"", b"\x00", b"\xff", b"\xff" * 600, _LONG[:510], _LONG, _LONG + b"\x00", _LONG + b"z", b"M"]),
    st.binary(max_size=2),
    st.integers(0, 40).map(lambda i: b"key%d" % i),
    st.integers(0, 3).map(lambda i: b"k" * (509 + i)),
)
_VALUES = st.one_of(st.none(), st.binary(max_size=4), st.integers(1, 60).map(bytes))
_BATCHES = st.lists(st.tuples(st.sampled_from(STORES), _KEYS, _VALUES), max_size=12)
_OUTCOMES = st.sampled_from(
    ["commit", "commit", "commit", "abort before", "abort after", "abort after", "other machine"]
)
_MISHAPS = st.sampled_from(["none", "none", "none", "delete", "cut", "garbage", "older", "swap", "other process"])
_POLICIES = st.builds(
    CompactionPolicy,
    min_delta_bytes=st.sampled_from([1, 300]),
    max_deltas=st.integers(0, 6),
    min_step_bytes=st.sampled_from([1, 40, 400]),
    max_step_bytes=st.sampled_from([1, 60, 4000]),
    max_removals=st.integers(1, 4),
)


class Machine:
    """A task's durable state, its replicas on two machines, and a dict as the model of its content."""

    def __init__(self, root: Path, policy: CompactionPolicy) -> None:
        self.root, self.policy = root, policy
        self.durable = MemoryDurable()
        self.model: dict[str, dict[bytes, bytes]] = {store: {} for store in STORES}

    def open(self, directory: str) -> TaskState:
        replica = Replica(self.root / directory, map_size=MAP_SIZE)
        return TaskState(self.durable, replica, DESCRIBE, policy=self.policy)

    def run(self, batch, outcome: str) -> None:
        changed = deepcopy(self.model)
        with self.open("remote" if outcome == "other machine" else "local") as state:
            assert contents(state) == ordered(self.model)
            for name, key, value in batch:
                store = state.store(name)
                if value is None:
                    store.delete(key)
                    changed[name].pop(key, None)
                else:
                    store.put(key, value)
                    changed[name][key] = value
            assert contents(state) == ordered(changed)
            if outcome != "abort before":
                state.commit()
        if outcome.startswith("abort"):
            self.durable.rollback()
        else:
            self.durable.commit()
            self.model = changed

    def mishap(self, kind: str) -> None:
        local, older = self.root / "local", self.root / "older"
        if kind == "delete":
            shutil.rmtree(local, ignore_errors=True)
        elif kind in ("cut", "garbage"):
            for data in local.glob("live-*/data.mdb"):
                raw = data.read_bytes()
                data.write_bytes(raw[: len(raw) // 2] if kind == "cut" else b"garbage" * 2000)
        elif kind == "older":
            if older.exists():
                shutil.rmtree(local, ignore_errors=True)
                older.rename(local)
            elif local.exists():
                shutil.copytree(local, older)
        elif kind == "swap" and (self.root / "remote").exists():
            shutil.rmtree(local, ignore_errors=True)
            (self.root / "remote").rename(local)
        elif kind == "other process":
            task_state._recent_deltas.clear()

    def check(self) -> None:
        fresh = tempfile.mkdtemp(dir=self.root)
        with self.open(fresh) as state:
            assert contents(state) == ordered(self.model)
            state.commit()
        shutil.rmtree(fresh)
        self.check_durable()

    def check_durable(self) -> None:
        head = Head() if self.durable.head is None else Head.decode(self.durable.head, DESCRIBE)
        assert list(self.durable.deltas) == [entry.version for entry in head.deltas]
        assert head.regions[-1].high == b"\xff"
        assert [region.high for region in head.regions] == sorted({region.high for region in head.regions})
        in_use = {region.slice_id for region in head.regions} - {0}
        assert set(self.durable.slices) == in_use | set(head.garbage)
        assert in_use.isdisjoint(head.garbage)


def contents(state: TaskState) -> dict[str, list[tuple[bytes, bytes]]]:
    found = {name: list(state.store(name).range(None, None)) for name in STORES}
    for name, entries in found.items():
        assert state.store(name).get_many([key for key, _ in entries]) == [value for _, value in entries]
    return found


def ordered(model: dict[str, dict[bytes, bytes]]) -> dict[str, list[tuple[bytes, bytes]]]:
    return {name: sorted(entries.items()) for name, entries in model.items()}


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(policy=_POLICIES, steps=st.lists(st.tuples(_BATCHES, _OUTCOMES, _MISHAPS), max_size=14))
def test_state_equals_the_sum_of_the_committed_batches(policy, steps):
    with tempfile.TemporaryDirectory() as root:
        machine = Machine(Path(root), policy)
        for batch, outcome, mishap in steps:
            machine.run(batch, outcome)
            machine.mishap(mishap)
            machine.check()


@pytest.mark.parametrize("keys_per_batch", [3, 40])
def test_size_of_deltas_is_bounded_by_the_live_state(tmp_path, keys_per_batch):
    policy = CompactionPolicy(min_delta_bytes=2000, max_deltas=16, min_step_bytes=500, max_step_bytes=4000)
    machine = Machine(tmp_path, policy)
    for number in range(200):
        batch = [("a", b"key%d" % (number * keys_per_batch * 7 % 400 + i), b"v" * 20) for i in range(keys_per_batch)]
        machine.run(batch, "commit")
        machine.check_durable()
        head = Head.decode(machine.durable.head, DESCRIBE)
        live = sum(len(key) + len(value) + 16 for key, value in machine.model["a"].items())
        delta = max(entry.size for entry in head.deltas)
        assert sum(entry.size for entry in head.needed()) <= 2 * max(live, policy.min_delta_bytes) + 2 * delta
        assert sum(region.size for region in head.regions) <= 2 * live + policy.max_step_bytes
        assert len(head.deltas) - len(head.needed()) <= 2 * policy.max_deltas + len(head.needed())
    assert head.tail.version > 0
    machine.check()


def test_base_shrinks_after_most_entries_are_deleted(tmp_path):
    policy = CompactionPolicy(min_delta_bytes=500, max_deltas=8, min_step_bytes=500, max_step_bytes=4000)
    machine = Machine(tmp_path, policy)
    keys = [b"key%04d" % i for i in range(1000)]
    machine.run([("a", key, b"v" * 20) for key in keys], "commit")
    for _ in range(30):
        machine.run([("a", b"key0000", b"w")], "commit")
    before = sum(map(len, machine.durable.slices.values()))
    machine.run([("a", key, None) for key in keys[10:]], "commit")
    for _ in range(30):
        machine.run([("a", b"key0000", b"x")], "commit")
    after = sum(map(len, [*machine.durable.slices.values(), *machine.durable.deltas.values()]))
    assert after < before / 2
    machine.check()


_PROCESS = """
import random, sys
from pathlib import Path
from headrace._state.changes.task_state import TaskState
from headrace._state.changes.compaction import CompactionPolicy
from headrace._state.changes.durable import MemoryDurable
from headrace._state.replica.replica import Replica
rng, durable, model = random.Random(sys.argv[2]), MemoryDurable(), {}
policy = CompactionPolicy(min_delta_bytes=2000, max_deltas=10, min_step_bytes=2000, max_step_bytes=8000)
for number in range(60):
    with TaskState(durable, Replica(Path(sys.argv[1])), "test", policy=policy) as state:
        store = state.store("s")
        assert dict(store.range(None, None)) == model
        changes = [(b"%d" % rng.randrange(300), rng.choice([None, b"%d" % number])) for _ in range(40)]
        store.put_many(changes)
        state.commit()
    if rng.random() < 0.2:
        durable.rollback()
    else:
        durable.commit()
        model = {key: value for key, value in {**model, **dict(changes)}.items() if value is not None}
"""


def test_processes_of_different_histories_may_share_one_replica(tmp_path):
    processes = [subprocess.Popen([sys.executable, "-c", _PROCESS, str(tmp_path), str(seed)]) for seed in (1, 2)]
    assert [process.wait() for process in processes] == [0, 0]
