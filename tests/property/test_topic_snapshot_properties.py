"""A commit log that is shortened says the same as one that is not, wherever a process dies or the power fails."""

from __future__ import annotations

import tempfile
import uuid
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.topics.embedded import catalog as _catalog
from headrace.topics.embedded import upkeep as _upkeep
from headrace.topics.embedded.log import ORDER_SCHEMA, TopicLog
from headrace.topics.policy import TopicPolicy
from tests.support.dose import examples
from tests.support.power_loss import ForgetfulDirectory
from tests.support.simulated_disk import Death, MortalProcess

PLACES = [("all", 0), ("all", 1), ("old", 0), ("large", 0), ("latest", 0)]
POLICIES = {
    "all": (2, TopicPolicy()),
    "old": (1, TopicPolicy(retention_ms=25)),
    "large": (1, TopicPolicy(retention_bytes=2_500)),
    "latest": (1, TopicPolicy(cleanup_policy="compact")),
}
SHORTEN_CALLS = 12  # more calls than `shorten` makes that change files

sizes = st.dictionaries(st.sampled_from(PLACES), st.integers(1, 4))
operations = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.tuples(sizes, st.integers(1, 2))),
        st.tuples(st.just("consolidate"), st.none()),
        st.tuples(st.just("shorten"), st.none()),
        st.tuples(st.just("die"), st.integers(0, SHORTEN_CALLS)),
        st.tuples(st.just("reopen"), st.none()),
        st.tuples(st.just("follow"), st.none()),
    ),
    min_size=10,
    max_size=50,
)


class Topics:
    """A directory of topics, a process that writes them, and one that reads them."""

    def __init__(self, directory):
        self.directory = directory
        self.now_ms, self.batch = 0, -1
        self.writer, self.reader = self.open(), self.open()
        for topic, (partitions, policy) in POLICIES.items():
            self.writer.create(topic, partitions, policy)

    def open(self):
        return TopicLog(self.directory, clock_ms=lambda: self.now_ms)

    def commit(self, sizes, writers):
        """Commits batches of two producers in turn, each batch by one or two writers of a partition."""
        self.batch += 1
        runs = []
        for number in range(writers):
            with self.writer.writer("p", 1) as writer:
                for place, size in sizes.items():
                    numbers = range(self.now_ms + 1, self.now_ms + 1 + size)
                    self.now_ms += size
                    writer.write(*place, records(numbers, ordered=writers > 1, source=number))
                runs += writer.finish()
        assert self.writer.commit(runs, producer=f"p{self.batch % 2}", batch=self.batch // 2)

    def contents(self):
        """All that a new process, and one that has followed the log, know and read."""
        fresh = self.open()
        self.reader.refresh()
        assert described(fresh) == described(self.reader)
        return described(fresh)


def records(numbers, *, ordered, source):
    columns = {
        "key": pa.array([None if number % 3 == 0 else b"%d" % (number % 2) for number in numbers], pa.binary()),
        "value": pa.array([b"%d" % number for number in numbers], pa.binary()),
        "timestamp": pa.array(numbers, pa.int64()),
    }
    for field in ORDER_SCHEMA if ordered else ():
        columns[field.name] = pa.array([source] * len(numbers) if field.name == "source" else numbers, field.type)
    return pa.record_batch(columns)


def described(log):
    topics = log.topics()
    return {
        "topics": {topic: (partitions, log.policy(topic)) for topic, partitions in topics.items()},
        "batches": {producer: log.last_batch(producer) for producer in ("p0", "p1")},
        "levels": sorted((stored.level, stored.size, stored.parts) for stored in log.catalog._stored.values()),
        "partitions": {place: partition(log, *place) for place in PLACES},
    }


def partition(log, topic, number):
    index = log.catalog.partition(topic, number)
    parts = [(part.first, part.end, part.size, part.newest_ms) for part in index]
    batches = list(log.read(topic, number, index.begin, index.end))
    return index.state, parts, [row for batch in batches for row in batch.to_pylist()]


@contextmanager
def early_upkeep(process):
    with ExitStack() as stack:
        for module in (_catalog, _upkeep):
            stack.enter_context(mock.patch.object(module, "FAN_IN", 3))
        stack.enter_context(process.installed())
        yield Path(stack.enter_context(tempfile.TemporaryDirectory()))


@settings(max_examples=examples(100), deadline=None)
@given(operations=operations)
def test_shortened_log_says_the_same_as_one_that_is_not(operations):
    process = MortalProcess()
    with early_upkeep(process) as directory:
        plain, shortened = Topics(directory / "plain"), Topics(directory / "shortened")
        for kind, argument in operations:
            if kind == "shorten":
                assert shortened.writer.upkeep.shorten()
            elif kind == "die":
                process.die_at(argument)
                with suppress(Death):
                    shortened.writer.upkeep.shorten()
                process.restart()
                shortened.writer = shortened.open()
            for topics in (plain, shortened):
                if kind == "commit":
                    topics.commit(*argument)
                elif kind == "consolidate":
                    topics.writer.upkeep.consolidate()
                elif kind == "reopen":
                    topics.writer = topics.open()
                elif kind == "follow":
                    topics.reader.refresh()
        shortened.writer.upkeep.shorten()
        assert shortened.contents() == plain.contents()
        for topics in (plain, shortened):
            for _ in range(8):
                topics.commit({("latest", 0): 1, ("all", 0): 2}, 1)
        assert shortened.contents() == plain.contents()
        # No file is forgotten: what no commit needs is deleted in the end.
        shortened.writer.upkeep.consolidate()
        for _ in range(2):
            shortened.writer.upkeep.shorten()
        assert {path.name for path in shortened.writer.segments.iterdir()} == shortened.writer.catalog.files


class Machine:
    """One partition on a machine that loses power; each commit has one number, and is a batch of a producer."""

    def __init__(self, directory, process, disk):
        self.directory, self.process, self.disk = directory, process, disk
        self.acknowledged, self.batch = [], -1
        self.log = TopicLog(directory)

    def start(self):
        """A new process, which publishes the last batch again, whether or not it is committed."""
        self.process.restart()
        self.log = TopicLog(self.directory)
        last = self.log.last_batch("p")
        assert len(self.acknowledged) <= (0 if last is None else last + 1)
        self.log.ensure("t", 1)
        if self.batch >= 0:
            self.commit(self.batch)

    def commit(self, batch):
        self.batch = batch
        with self.log.writer("p", 1) as writer:
            writer.write("t", 0, records([batch], ordered=False, source=0))
            runs = writer.finish()
        self.log.commit(runs, producer="p", batch=batch)
        self.acknowledged = list(range(batch + 1))

    def shorten(self):
        self.log.upkeep.shorten()

    def consolidate(self):
        self.log.upkeep.consolidate()

    def next_commit(self):
        self.commit(self.batch + 1)

    def act(self, action, call, random):
        """Acts, and dies at a call, if there is one; then the power fails if there is a random generator."""
        self.process.die_at(call)
        with suppress(Death):
            action()
        if random is not None:
            self.disk.lose_power(random)
        if call is not None or random is not None:
            self.start()
            self.check()

    def check(self):
        log = TopicLog(self.directory)
        assert [
            row["timestamp"] for batch in log.read("t", 0, 0, log.end_offsets("t")[0]) for row in batch.to_pylist()
        ] == (self.acknowledged)


@contextmanager
def machine():
    """A machine on which the names of files, and so what a power loss keeps, are the same in every run."""
    numbers = count()
    names = mock.patch.object(uuid, "uuid4", side_effect=lambda: uuid.UUID(int=next(numbers)))
    with tempfile.TemporaryDirectory() as root, names:
        disk = ForgetfulDirectory(root)
        process = MortalProcess(disk.sync)
        with early_upkeep(process):
            machine = Machine(Path(root) / "below" / "topics", process, disk)
            machine.start()
            yield machine
        disk.close()


@settings(max_examples=examples(150), deadline=None)
@given(
    actions=st.lists(
        st.tuples(
            st.sampled_from([Machine.next_commit, Machine.next_commit, Machine.shorten, Machine.consolidate]),
            st.none() | st.integers(0, 20),
            st.none() | st.integers(0, 1000).map(Random),
        ),
        min_size=3,
        max_size=12,
    )
)
def test_acknowledged_commits_survive_kills_and_power_losses(actions):
    with machine() as tested:
        for action, call, random in actions:
            tested.act(lambda action=action: action(tested), call, random)
        tested.start()
        tested.next_commit()
        tested.check()


@pytest.mark.parametrize("call", range(SHORTEN_CALLS))
def test_commit_after_a_kill_at_any_step_survives_a_power_loss(call):
    for seed in range(8):
        with machine() as tested:
            for _ in range(4):
                tested.next_commit()
            tested.act(tested.shorten, call, None)
            tested.next_commit()
            tested.act(tested.check, None, Random(seed))


def sweep_at_next_start(log):
    log.refresh()
    log.upkeep.sweep_producer("p", 2)


@pytest.mark.parametrize("delete", [lambda log: log.upkeep.consolidate(), sweep_at_next_start])
@pytest.mark.parametrize("call", range(20))
def test_files_are_deleted_only_after_the_commit_that_supersedes_them_is_durable(call, delete):
    for seed in range(8):
        with machine() as tested:
            for _ in range(2):
                tested.next_commit()
            tested.process.die_at(call)
            with suppress(Death):
                tested.next_commit()
            tested.process.restart()
            delete(TopicLog(tested.directory))
            tested.disk.lose_power(Random(seed))
            tested.start()
            tested.check()
