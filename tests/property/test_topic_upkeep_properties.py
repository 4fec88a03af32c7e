"""Upkeep of topics changes neither records nor offsets, wherever a process dies and whoever reads meanwhile.

Only what the policy of a topic allows is deleted: here `old` by time, `large` by size, `latest` by key; nothing of
`all`.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.errors import TopicError
from headrace.topics import batches as _batches
from headrace.topics.embedded import catalog as _catalog
from headrace.topics.embedded import upkeep as _upkeep
from headrace.topics.embedded import writer as _writer
from headrace.topics.embedded.log import TopicLog
from headrace.topics.policy import TopicPolicy
from headrace.topics.records import offsets_of
from tests.support.dose import examples
from tests.support.simulated_disk import Death, MortalProcess

PLACES = [("all", 0), ("all", 1), ("old", 0), ("large", 0), ("latest", 0)]
OLD_MS, LARGE_BYTES = 25, 2_500
POLICIES = {
    "all": (2, TopicPolicy()),
    "old": (1, TopicPolicy(retention_ms=OLD_MS)),
    "large": (1, TopicPolicy(retention_bytes=LARGE_BYTES)),
    "latest": (1, TopicPolicy(cleanup_policy="compact")),
}

operations = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.dictionaries(st.sampled_from(PLACES), st.integers(1, 5))),
        st.tuples(st.just("die"), st.tuples(st.integers(0, 14), st.dictionaries(st.sampled_from(PLACES), st.just(2)))),
        st.tuples(st.just("look up"), st.sampled_from(PLACES)),
        st.tuples(st.just("consolidate"), st.none()),
        st.tuples(st.just("other process"), st.none()),
    ),
    min_size=10,
    max_size=40,
)


class World:
    """A directory of topics, the processes that use it, and the records that must be there."""

    def __init__(self, directory, process):
        self.directory, self.process = directory, process
        self.writer, self.reader = self.open(), self.open()
        self.records = {place: [] for place in PLACES}
        self.now_ms, self.batch = 0, -1
        self.looked_up = []
        for topic, (partitions, policy) in POLICIES.items():
            self.writer.create(topic, partitions, policy)

    def open(self):
        return TopicLog(self.directory, clock_ms=lambda: self.now_ms)

    def next_number(self):
        """Records are numbers, which are their timestamps as well: with each of them a millisecond passes."""
        self.now_ms += 1
        return self.now_ms

    def commit(self, sizes):
        added = {place: [self.next_number() for _ in range(size)] for place, size in sizes.items()}
        with self.writer.writer("p", 1) as writer:
            for place, numbers in added.items():
                values = pa.array([str(number).encode() for number in numbers], pa.binary())
                keys = pa.array([key_of(number) for number in numbers], pa.binary())
                columns = {"key": keys, "value": values, "timestamp": pa.array(numbers, pa.int64())}
                writer.write(*place, pa.record_batch(columns))
            runs = writer.finish()
        self.added = added
        self.commit_runs(runs)

    def commit_runs(self, runs):
        """Commits. Of `large`, only what exceeds its size is deleted, before the commit consolidates the rest."""
        self.writer.refresh()
        begin, parts = bounds(self.writer, ("large", 0))[0], list(self.writer.catalog.partition("large", 0))
        self.writer.commit(runs, producer="p", batch=self.batch + 1)
        self.note_commit()
        new_begin, _ = bounds(self.writer, ("large", 0))
        sizes = [
            *(part.size for part in parts if part.first >= new_begin),
            *(run.size for run in runs if run.topic == "large"),
        ]
        assert new_begin == begin or sum(sizes) >= LARGE_BYTES

    def note_commit(self):
        self.batch += 1
        for place, numbers in self.added.items():
            self.records[place] += numbers

    def die(self, call, sizes):
        self.added = {}
        self.process.die_at(call)
        try:
            self.commit(sizes)
            self.writer.upkeep.consolidate()
        except Death:
            self.process.restart()
            self.writer = self.open()
            if self.writer.last_batch("p") == self.batch + 1:
                self.note_commit()
        self.process.restart()

    def look_up(self, place):
        self.reader.refresh()
        begin, end = bounds(self.reader, place)
        self.looked_up.append((place, begin, end, self.reader.extents(*place, begin, end)))

    def check(self):
        for place, begin, end, extents in self.looked_up:
            reader = TopicLog(self.directory)
            if begin < min(end, bounds(reader, place)[0]):
                with pytest.raises(TopicError, match="are deleted, by the retention"):
                    read(reader.read(*place, begin, end))
            else:
                self.check_records(place, begin, end, reader.read_extents(extents, begin, end))
        for log in (self.reader, self.writer, TopicLog(self.directory)):
            log.refresh()
            for place, expected in self.records.items():
                begin, end = bounds(log, place)
                assert end == len(expected)
                for start in (begin, (begin + end) // 2):
                    self.check_records(place, start, end, log.read(*place, start, end))
                    timestamps = log.timestamps(*place, start, end).tolist()
                    if place[0] == "latest":
                        assert all(seen <= number for seen, number in zip(timestamps, expected[start:], strict=True))
                    else:
                        assert timestamps == expected[start:]

    def check_records(self, place, start, end, batches):
        """Records are at their offsets. Only those with a later record of their key may be missing, in `latest`."""
        expected = dict(enumerate(self.records[place][start:end], start))
        seen = {}
        for batch in batches:
            offsets = offsets_of(batch, start)
            seen.update(zip(offsets, read([batch]), strict=True))
            start = offsets[-1] + 1
        assert seen.items() <= expected.items()
        assert list(seen) == sorted(seen)
        later = {} if place[0] != "latest" else {key_of(number): number for number in self.records[place]}
        missing = [number for offset, number in expected.items() if offset not in seen]
        assert all(key_of(number) is not None and number < later.get(key_of(number), -1) for number in missing)

    def check_policies(self):
        """After a commit, what may be deleted is deleted, and nothing else."""
        self.added = {}
        self.commit_runs([])
        assert bounds(self.writer, ("all", 0))[0] == bounds(self.writer, ("all", 1))[0] == 0
        begin, _ = bounds(self.writer, ("old", 0))
        parts = self.writer.catalog.partition("old", 0)
        assert all(number < self.now_ms - OLD_MS for number in self.records["old", 0][:begin])
        assert all(part.newest_ms >= self.now_ms - OLD_MS for part in list(parts)[:1])
        sizes = [part.size for part in self.writer.catalog.partition("large", 0)]
        assert sum(sizes[1:]) < LARGE_BYTES


def key_of(number):
    """Few keys, and some records without."""
    return None if number % 3 == 0 else b"%d" % (number % 2)


def bounds(log, place):
    topic, partition = place
    return log.begin_offsets(topic)[partition], log.end_offsets(topic)[partition]


def read(batches):
    return [int(value) for batch in batches for value in batch.column("value").to_pylist()]


TWO_EACH = {("all", 0): 2, ("all", 1): 2, ("old", 0): 2, ("large", 0): 2}


@settings(max_examples=examples(60), deadline=None)
@given(operations=operations)
@example(operations=[*[("commit", {})] * 5, ("commit", {("large", 0): 1}), *[("die", (4, TWO_EACH))] * 4])
def test_every_reader_sees_exactly_the_committed_records_at_their_offsets(operations):
    with ExitStack() as stack:
        for module in (_catalog, _upkeep):
            stack.enter_context(mock.patch.object(module, "FAN_IN", 3))
        for module in (_batches, _writer):
            stack.enter_context(mock.patch.object(module, "MAX_ROWS", 4))
        process = stack.enter_context(MortalProcess().installed())
        world = World(Path(stack.enter_context(tempfile.TemporaryDirectory())), process)
        for kind, argument in operations:
            if kind == "commit":
                world.commit(argument)
            elif kind == "die":
                world.die(*argument)
            elif kind == "look up":
                world.look_up(argument)
            elif kind == "consolidate":
                world.writer.upkeep.consolidate()
            else:
                world.writer = world.open()
        world.check()
        world.check_policies()
        # What is neither read nor superseded has been swept.
        while world.writer.upkeep.consolidate():
            pass
        world.writer.upkeep.consolidate()
        left = {path.name for path in world.writer.segments.glob("*")}
        assert {name for name in left if name.startswith("consolidated.")} <= world.writer.catalog.files
        assert len(world.writer.catalog._stored) <= 2 * 5
        world.check()
