"""Whatever happens to a batch or to the replica, state is what the committed batches made it.

Random batches over several stores, with keys that LMDB cannot take as they are, are aborted, repeated, and run on
replicas that were deleted, damaged, set back to an older copy, or belong to another machine. Whoever opens the state
then finds what a plain dict holds, and so does a rebuild from durable state alone after every step.
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

from headrace._state.changes import task_state as changelog
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
_FATES = st.sampled_from(["commit", "commit", "commit", "abort before", "abort after", "abort after", "other machine"])
_MISHAPS = st.sampled_from(["none", "none", "none", "delete", "cut", "garbage", "older", "swap", "other process"])
_POLICIES = st.builds(
    CompactionPolicy,
    min_log_bytes=st.sampled_from([1, 300]),
    max_deltas=st.integers(0, 6),
    min_step_bytes=st.sampled_from([1, 40, 400]),
    max_step_bytes=st.sampled_from([1, 60, 4000]),
    max_removals=st.integers(1, 4),
)


class Machine:
    """A task's durable state, two machines' replicas of it, and the model of what it holds."""

    def __init__(self, root: Path, policy: CompactionPolicy) -> None:
        self.root, self.policy = root, policy
        self.durable = MemoryDurable()
        self.model: dict[str, dict[bytes, bytes]] = {store: {} for store in STORES}

    def open(self, directory: str) -> TaskState:
        replica = Replica(self.root / directory, map_size=MAP_SIZE)
        return TaskState(self.durable, replica, DESCRIBE, policy=self.policy)

    def run(self, batch, fate: str) -> None:
        changed = deepcopy(self.model)
        with self.open("remote" if fate == "other machine" else "local") as state:
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
            if fate != "abort before":
                state.commit()
        if fate.startswith("abort"):
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
            changelog._recent.clear()

    def check(self) -> None:
        fresh = tempfile.mkdtemp(dir=self.root)
        with self.open(fresh) as state:
            assert contents(state) == ordered(self.model)
            state.commit()
        shutil.rmtree(fresh)
        self.check_durable()

    def check_durable(self) -> None:
        head = Head() if self.durable.head is None else Head.decode(self.durable.head, DESCRIBE)
        assert list(self.durable.deltas) == [entry.version for entry in head.log]
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
@given(policy=_POLICIES, steps=st.lists(st.tuples(_BATCHES, _FATES, _MISHAPS), max_size=14))
def test_state_is_what_the_committed_batches_made_it(policy, steps):
    with tempfile.TemporaryDirectory() as root:
        machine = Machine(Path(root), policy)
        for batch, fate, mishap in steps:
            machine.run(batch, fate)
            machine.mishap(mishap)
            machine.check()


@pytest.mark.parametrize("keys_per_batch", [3, 40])
def test_log_stays_bounded_by_live_state(tmp_path, keys_per_batch):
    policy = CompactionPolicy(min_log_bytes=2000, max_deltas=16, min_step_bytes=500, max_step_bytes=4000)
    machine = Machine(tmp_path, policy)
    for number in range(200):
        batch = [("a", b"key%d" % (number * keys_per_batch * 7 % 400 + i), b"v" * 20) for i in range(keys_per_batch)]
        machine.run(batch, "commit")
        machine.check_durable()
        head = Head.decode(machine.durable.head, DESCRIBE)
        live = sum(len(key) + len(value) + 16 for key, value in machine.model["a"].items())
        delta = max(entry.size for entry in head.log)
        assert sum(entry.size for entry in head.needed()) <= 2 * max(live, policy.min_log_bytes) + 2 * delta
        assert sum(region.size for region in head.regions) <= 2 * live + policy.max_step_bytes
        assert len(head.log) - len(head.needed()) <= 2 * policy.max_deltas + len(head.needed())
    assert head.tail.version > 0
    machine.check()


def test_base_shrinks_after_most_entries_are_deleted(tmp_path):
    policy = CompactionPolicy(min_log_bytes=500, max_deltas=8, min_step_bytes=500, max_step_bytes=4000)
    machine = Machine(tmp_path, policy)
    keys = [b"key%04d" % i for i in range(1000)]
    machine.run([("a", key, b"v" * 20) for key in keys], "commit")
    for _ in range(30):
        machine.run([("a", b"key0000", b"w")], "commit")
    before = sum(map(len, machine.durable.slices.values()))
    machine.run([("a", key, None) for key in keys[10:]], "commit")
    for _ in range(30):
        machine.run([("a", b"key0000", b"x")], "commit")
    kept = sum(map(len, [*machine.durable.slices.values(), *machine.durable.deltas.values()]))
    assert kept < before / 2
    machine.check()


_PROCESS = """
import random, sys
from pathlib import Path
from headrace._state.changes.task_state import TaskState
from headrace._state.changes.compaction import CompactionPolicy
from headrace._state.changes.durable import MemoryDurable
from headrace._state.replica.replica import Replica
rng, durable, model = random.Random(sys.argv[2]), MemoryDurable(), {}
policy = CompactionPolicy(min_log_bytes=2000, max_deltas=10, min_step_bytes=2000, max_step_bytes=8000)
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


def test_processes_of_other_histories_may_fight_over_one_replica(tmp_path):
    processes = [subprocess.Popen([sys.executable, "-c", _PROCESS, str(tmp_path), str(seed)]) for seed in (1, 2)]
    assert [process.wait() for process in processes] == [0, 0]
