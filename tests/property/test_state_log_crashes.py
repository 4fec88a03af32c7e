"""Whatever is killed, stopped or struck by a power loss, and whenever: output appears once, and state is never lost.

An application that counts keys runs on a simulated disk, with the product's own state log, tasks, rounds of batches,
commits and starts; only Spark, the topics' records and LMDB are stand-ins. Several starts of it run at once. Between
any two steps that others can see a process is killed, stopped for long while others start, commit and sweep, or the
power fails and takes what was not synced. A seed tells the whole story again.
"""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import NamedTuple

import msgspec
import pytest

from headrace._runtime.spark import starting
from headrace._runtime.spark.planning import batch_planner
from headrace._runtime.spark.planning.batch_planner import BatchPlanner
from headrace._runtime.spark.planning.plan import Plan, Stage
from headrace._runtime.spark.session.session import parallelism
from headrace._runtime.spark.stages import committing, fused, stage
from headrace._runtime.spark.stages.committing import commit, write_part
from headrace._runtime.spark.stages.frames import TO_SINK, Frame
from headrace._runtime.spark.stages.fused import FusedRound
from headrace._runtime.spark.stages.stage import TaskRunner, task_name
from headrace._runtime.spark.state_directory import log as state_directory
from headrace._runtime.spark.state_directory.log import current_view, state_log
from headrace._runtime.spark.topics.backend import SinkTask
from headrace._runtime.spark.topics.embedded import EmbeddedBackend
from headrace._runtime.spark.topics.kafka import KafkaBackend
from headrace._state.bytes.envelope import seal, unseal
from headrace._state.bytes.memory import MemoryStore
from headrace._state.changes import compaction, restore
from headrace._state.changes import task_state as changelog
from headrace._state.changes.compaction import CompactionPolicy
from headrace._state.changes.delta import Columns, Encoded
from headrace._state.changes.task_state import TaskState
from headrace._state.log import entries, objects, reading
from headrace._state.log import state_log as state_logs
from headrace._state.log.reading import CommittedTasks
from headrace._state.log.state_log import StateLog, TakenOverError
from headrace._state.log.task import LoggedTask
from headrace._state.replica.position import ORIGIN
from headrace.errors import StateError, TopicError
from headrace.topics.embedded.log import Run
from headrace.topics.kafka import commits as kafka_commits
from headrace.topics.kafka.client import client, lost
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.commits import Commits
from tests.support.dose import examples
from tests.support.simulated_files import (
    GO_ON,
    KILL,
    KILL_ALL,
    LOSE_POWER,
    ROOT,
    SWITCH,
    Killed,
    Simulation,
)

PARTITIONS = 2
REPLICAS = Path("/replicas/of/nobody")
POLICY = CompactionPolicy(min_log_bytes=1, max_deltas=3, min_step_bytes=40, max_step_bytes=60, max_removals=3)
STORE = "counts"
BASE_EVERY, KEEP_BEFORE_BASE = 5, 7
MOST_STEPS_A_CRASH = 80
FOREVER = 1 << 40
REAL_NUMBERS = state_logs._BASE_EVERY, state_logs._KEEP_BEFORE_BASE


class Counted(NamedTuple):
    """What is written for a record: its place, its key, and how many of the key there were; the seventh is the last."""

    partition: int
    offset: int
    key: str
    count: int


class Story:
    """What an undisturbed run makes of the input: the output, and the store after each record."""

    def __init__(self, partition):
        self.output, self.stores = [], [{}]
        self._partition = partition

    def upto(self, end):
        while len(self.output) < end:
            offset, store = len(self.output), dict(self.stores[-1])
            key = f"k{(offset * 7 + offset // 3 + self._partition) % 5}"
            store[key.encode()] = store.get(key.encode(), 0) + 1
            self.output.append(Counted(self._partition, offset, key, store[key.encode()]))
            if store[key.encode()] == 7:
                del store[key.encode()]
            self.stores.append(store)
        return self


STORIES = [Story(partition) for partition in range(PARTITIONS)]


def contents(partition, offset):
    """The store of a task that has read so far."""
    stored = STORIES[partition].upto(offset).stores[offset]
    return {key: b"%d" % number for key, number in stored.items()}


class MemoryReplica:
    """A replica that costs no time. Processes of a machine share `copies`, as they share its disk."""

    def __init__(self, copies, directory):
        self.directory = directory
        self._copies = copies

    def exists(self):
        return self.directory in self._copies

    def snapshot(self):
        return MemorySnapshot(*self._copies.get(self.directory, ({}, ORIGIN)))

    def apply(self, delta, before, after):
        stores, position = self._copies.get(self.directory, ({}, ORIGIN))
        if position != before:
            return False
        rebuild = MemoryRebuild({name: dict(entries) for name, entries in stores.items()})
        rebuild.apply(delta)
        self._copies[self.directory] = rebuild.stores, after
        return True

    def reset(self, position, fill):
        rebuild = MemoryRebuild({})
        fill(rebuild)
        self._copies[self.directory] = rebuild.stores, position

    def wipe(self):
        self._copies.pop(self.directory, None)

    def close(self):
        pass


class MemoryRebuild:
    def __init__(self, stores):
        self.stores = stores

    def apply(self, delta):
        for name, columns in delta.items():
            store = self.stores.setdefault(name, {})
            for key, value in zip(*columns, strict=True):
                if value is None:
                    store.pop(key, None)
                else:
                    store[key] = value

    append = apply


class MemorySnapshot:
    def __init__(self, stores, position):
        self.position = position
        self.stores = sorted(stores)
        self._stores = stores

    def reader(self, name):
        store = MemoryStore()
        store.put_many(self._stores.get(name, {}).items())
        return store

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Lost(Exception):
    """Spark gives up a batch, and with it the query."""


class Watched(StateLog):
    """The product's state log; what it says was appended is checked."""

    def _append(self, before, entry, *rest):
        view = super()._append(before, entry, *rest)
        if World.present.watches:
            World.present.appended(view, entry)
        return view


class Appended(NamedTuple):
    """What the world has seen of an entry of the log."""

    process: str
    epoch: int
    batch: int
    offsets: dict[str, int]
    planned: bool


class World:
    """One disk, the topics, and all starts of the application; it knows what happened, and what must not."""

    present: World

    def __init__(self, seed, *, kafka=False, crashes=0, script=None, replicas=None):
        World.present = self
        self.described = f"World({seed}, kafka={kafka}, crashes={crashes})"
        self.random = Random(seed)
        self.kafka = kafka
        self.script = script or MOODS[seed % len(MOODS)]
        self.simulation = Simulation(self.random, self.fate)
        self.simulation.disk.appeared = self.appeared
        self.simulation.when_power_fails = self.power_failed
        self.files = self.simulation.disk.files()
        self.crashes = crashes
        self.calm = False
        self.watches = True
        self.until = None
        self.replicas = {}
        self.replica_directory = replicas or REPLICAS
        self.homes = {}
        self.memory = defaultdict(dict)
        self.retention_ms = self.random.choice((0, 3, 30))
        self.clock_ms = 0
        self.seconds = 0.0
        self.names = defaultdict(int)
        # What topics hold: nothing of it is ever lost.
        self.output = [[] for _ in range(PARTITIONS)]
        self.published = {}
        self.segments = {}
        self.committed_segments = set()
        self.fences = defaultdict(int)
        self.notes = defaultdict(list)
        self.note_partitions = 0
        # What was seen of the log.
        self.history = {}
        self.newest = 0
        self.acknowledged = 0
        self.seen_at = 0
        self.started_at = {}
        self.created_at = {}
        state_directory._opened.cache_clear()

    # What happens when.

    def fate(self, simulation, what, where):
        self.clock_ms += 1
        if self.calm:
            return SWITCH if self.random.random() < 0.1 else GO_ON
        if simulation.crashes >= self.crashes or simulation.steps >= self.crashes * MOST_STEPS_A_CRASH:
            self.calm_down()
        fate = self.script(self, what, where)
        if fate > SWITCH:
            self.keep_running(besides=simulation.current)
        return fate

    def calm_down(self):
        """Nothing happens any more; what was stopped goes on, and ends."""
        self.calm = True
        for actor in self.simulation.actors:
            actor.stopped_until = 0

    def named(self, kind):
        self.names[kind] += 1
        return f"/{kind}/{self.names[kind]}"

    def keep_running(self, besides=None):
        """There is always a start that is not stopped, so that what is stopped stays so for long."""
        simulation = self.simulation
        others = [
            actor
            for actor in simulation.actors
            if actor is not besides
            and actor.stopped_until <= simulation.steps
            and actor.processes[0].name.startswith("/start/")
            and not actor.processes[0].dead
        ]
        if not self.calm and not others:
            self.spawn_start()

    def spawn_start(self):
        if len(self.simulation.actors) < 8:
            self.simulation.spawn(self.named("start"), self.guarded(run_application))
        if self.random.random() < 0.1 and not any(actor.name.startswith("/reader") for actor in self.simulation.actors):
            self.simulation.spawn(self.named("reader"), read_now_and_then)

    def spawn_attempt(self, plan, body):
        """A task that Spark takes for lost, and that is not."""
        if len(self.simulation.actors) < 8:
            name = self.named("cut off")
            self.simulation.spawn(name, self.guarded(lambda _: body(replace(plan, state_dir=name)), plan))

    def guarded(self, body, plan=None):
        """An actor that may end as it likes when it has been superseded, and else must not."""

        def live(actor):
            actor.plan, actor.names = plan, {actor.name}
            try:
                body(actor)
            except Lost:
                pass
            except StateError as error:
                self.ends_rightly(actor, error)
            finally:
                self.keep_running(besides=actor)

        return live

    def ends_rightly(self, actor, error):
        """Whoever says that another has taken over is right, and nobody ends by saying anything else."""
        by_kafka = self.kafka and type(error) is StateError and "was started again at Kafka" in str(error)
        if isinstance(error, TakenOverError) or by_kafka:
            own = [seen.epoch for seen in self.history.values() if seen.process in actor.names]
            epoch = max(own, default=0) if actor.plan is None else actor.plan.epoch
            writers = {seen.process for seen in self.history.values() if seen.epoch == epoch}
            if self.history[self.newest].epoch > epoch or writers - actor.names:
                return
            error.add_note("nobody else has written")
        raise error

    def power_failed(self):
        self.replicas.clear()
        shutil.rmtree(self.replica_directory, ignore_errors=True)
        newest = max(map(int, filter(str.isdigit, self.simulation.disk.names("log"))), default=0)
        assert newest >= self.acknowledged, "an entry that was said to be written is lost"
        self.history = {number: seen for number, seen in self.history.items() if number <= newest}
        self.newest = newest
        batch, planned = (self.history[newest].batch, self.history[newest].planned) if newest else (-1, False)
        for written in self.published.values():
            assert written <= batch, "output was published, and its commit is lost"
        for notes in self.notes.values():
            for note in notes:
                assert note.batch <= batch + planned, "output is in Kafka, and the plan of its batch is lost"

    def appeared(self, path, data):
        directory, _, name = path.rpartition("/")
        if directory == f"{ROOT}/state":
            self.created_at[name] = self.simulation.steps
        elif name.isdigit() and self.watches:
            self.written(int(name), entries.decode(data, path))

    def written(self, number, entry):
        """An entry of the log is there; whether it counts depends on its number."""
        process = self.simulation.current.name
        if number != self.newest + 1:
            return  # nobody may take this for an entry: see `appended`
        last = self.history.get(self.newest, Appended("", 0, -1, {}, planned=False))
        if entry.start is not None:
            assert entry.epoch == last.epoch + 1
            assert (entry.base.state.batch, entry.base.state.offsets) == (last.batch, last.offsets)
            seen = last._replace(process=process, epoch=entry.epoch)
            self.started_at[entry.epoch] = self.simulation.steps
        elif entry.plan is not None:
            assert (entry.epoch, entry.plan.batch) == (last.epoch, last.batch + 1)
            seen = last._replace(process=process, planned=True)
        else:
            assert (entry.epoch, entry.commit.batch) == (last.epoch, last.batch + 1)
            assert self.published_upto(last.batch), "a batch is committed before the one before it is published"
            seen = Appended(process, entry.epoch, entry.commit.batch, last.offsets | entry.commit.offsets, False)
        self.newest = number
        self.history[number] = seen

    def published_upto(self, batch):
        return self.kafka or batch < 0 or max(self.published.values(), default=-1) >= batch

    def appended(self, view, entry):
        """A process believes that it has written an entry."""
        seen = self.history.get(view.number)
        own = seen is not None and seen.process == self.simulation.current.name and seen.epoch == entry.epoch
        assert own, f"entry {view.number} does not count, and its writer takes it for written"
        assert view.state.batch == seen.batch
        self.acknowledged = max(self.acknowledged, view.number)

    # What can be seen of it.

    def publish(self, partition, records):
        self.seen_at = self.simulation.steps
        written = self.output[partition]
        expected = STORIES[partition].upto(len(written) + len(records)).output
        assert records == expected[len(written) : len(written) + len(records)], "output is lost, or there twice"
        written += records

    def started(self, plan):
        """After every start: the state is that of the last commit, and nothing is left that nobody needs."""
        with self.simulation.looking():
            view = state_log(replace(plan, state_dir=self.named("observer"))).view()
            if view.epoch != plan.epoch or view.state.batch >= view.start.first_batch:
                return
            self.check_state(view)
            known = view.state.objects.keys() | view.state.dead.keys()
            left = [
                name
                for name in set(self.simulation.disk.names("state")) - known
                if int(name.split("-")[0]) < plan.epoch and self.created_at[name] < self.started_at[plan.epoch]
            ]
            assert not left, "objects of earlier starts are left"
            self.check_size()

    def check_state(self, view):
        """Every task, from objects alone."""
        found = {}
        for partition in range(PARTITIONS):
            name = task_name(STAGE, partition)
            durable = LoggedTask(self.files, None, name, view.state.heads.get(name), name)
            with TaskState(durable, MemoryReplica({}, REPLICAS), name) as state:
                found[partition] = dict(state.store(STORE).range(None, None))
        offsets = {partition: view.state.offsets.get(f"in-{partition}", 0) for partition in range(PARTITIONS)}
        assert found == {partition: contents(partition, offset) for partition, offset in offsets.items()}

    def check_size(self):
        kept = [name for name in self.simulation.disk.names("log") if name.isdigit()]
        most = state_logs._BASE_EVERY + state_logs._KEEP_BEFORE_BASE + 10
        assert len(kept) <= most, f"{len(kept)} entries of the log are kept"

    def check_all(self):
        """When nobody is there but a start that was not disturbed, and has ended."""
        view = Watched(self.files, "the end").view()
        assert view.state.offsets == self.until
        ends = self.until.values()
        assert self.output == [story.upto(end).output[:end] for story, end in zip(STORIES, ends, strict=True)]
        self.check_state(view)
        self.check_size()
        assert set(self.simulation.disk.names("state")) == view.state.objects.keys() | view.state.dead.keys()

    def home(self, plan):
        key = (plan.state_dir, plan.epoch)
        if key not in self.homes:
            self.homes[key] = ModelKafka(self) if self.kafka else ModelTopics(self)
        return self.homes[key]

    def limits(self, starts):
        """How far the next batch reads: up to some records of each partition."""
        if self.until is not None:
            return [min(start + 10, self.until[f"in-{partition}"]) for partition, start in enumerate(starts)]
        taken = [self.random.choice((0, 0, 1, 2, 4)) for _ in starts]
        return [start + number for start, number in zip(starts, taken if any(taken) else [1] * len(taken), strict=True)]


class Mood(NamedTuple):
    """The chances of each fate at each step. One that aims kills when a name is not yet safe, and takes the power away
    when something has just become visible.
    """

    kills: float = 0.006
    power_losses: float = 0.003
    switches: float = 0.05
    stops: float = 0.004
    starts: float = 0.001
    aims: float = 1.0

    def __call__(self, world, what, where):
        drawn, steps = world.random.random(), world.simulation.steps
        kills = self.kills * (self.aims if what == "sync" and where == f"{ROOT}/log" else 1)
        power_losses = self.power_losses * (self.aims if steps < world.seen_at + 4 else 1)
        chances = (kills, KILL), (kills, KILL_ALL), (power_losses, LOSE_POWER), (self.switches, SWITCH)
        for chance, fate in chances:
            if drawn < chance:
                return fate
            drawn -= chance
        if drawn < self.stops:
            return SWITCH + world.random.randrange(*((300, 3000) if world.random.random() < 0.3 else (5, 100)))
        if drawn < self.stops + self.starts:
            world.spawn_start()
        return GO_ON


MOODS = (
    Mood(),
    Mood(kills=0.001, power_losses=0.0, stops=0.01),
    Mood(kills=0.015, power_losses=0.0, switches=0.0, stops=0.0),
    Mood(kills=0.002, power_losses=0.02, switches=0.01),
    Mood(kills=0.01, power_losses=0.005, switches=0.3, starts=0.01, stops=0.02),
    Mood(kills=0.004, power_losses=0.002, stops=0.001, aims=50.0),
)


class ModelTopicLog:
    """The embedded topics: commits are durable, at once, and made once for each producer and batch."""

    def __init__(self, world):
        self._world = world
        self._known = None

    def topics(self):
        self._current()
        return {"in": PARTITIONS}

    def refresh(self):
        self._world.simulation.step("read topics")
        self._known = dict(self._world.published)

    def last_batch(self, producer):
        return self._current().get(producer)

    def commit(self, runs, *, producer, batch, create):
        assert create == {"out": PARTITIONS}
        world = self._world
        world.simulation.step("publish", f"batch {batch}")
        self._known = dict(world.published)
        if batch <= self._known.get(producer, -1):
            self._remove([run.file for run in runs])
            return False
        for run in runs:
            if run.file not in world.segments:
                message = f"the records of batch {batch} in {run.file} are gone"
                raise TopicError(message)
            world.publish(run.partition, world.segments[run.file][run.partition])
        world.committed_segments.update(run.file for run in runs)
        world.published[producer] = self._known[producer] = batch
        return True

    def sweep_producer(self, producer, start):
        self._world.simulation.step("sweep topics")
        earlier = [
            name for name in self._world.segments if name.split("-")[0] == producer and int(name.split("-")[1]) < start
        ]
        self._remove(earlier)

    def sweep(self, older_than_s):
        pass

    def _remove(self, files):
        for file in files:
            if file not in self._world.committed_segments:
                self._world.segments.pop(file, None)

    def _current(self):
        if self._known is None:
            self.refresh()
        return self._known


class ModelHome:
    """What both kinds of topics have in common: the input."""

    def ends(self, places):
        return [1 << 40 for _ in places]

    def admitted(self, plan, starts, ends, limit, now_ms):
        return self._world.limits(starts)

    def locate(self, place, first, last):
        return None

    def read(self, place, first, last, located):
        return last


class ModelTopics(ModelHome, EmbeddedBackend):
    """The product's home of embedded topics, over the model of their log."""

    def __init__(self, world):
        self._world = world
        self._log = ModelTopicLog(world)

    def write(self, plan, outputs, metrics, task):
        name = f"{plan.instance}-{plan.epoch}-{self._world.named('segment')}"
        self._world.simulation.step("write segment", name)
        self._world.segments[name] = {frame.target: _decoded(frame) for frame in outputs}
        return [Run("out", frame.target, len(_decoded(frame)), name, ()) for frame in outputs], {}


class ModelCluster:
    """A broker as far as the product asks it here; what was committed there is never lost."""

    bootstrap_servers = "a model"
    ensure = KafkaCluster.ensure

    def __init__(self, world):
        self._world = world

    def topics(self):
        return {"in": PARTITIONS, "out": PARTITIONS} | {"model-headrace-commits": self._world.note_partitions}

    def create(self, topics, settings=None):
        for partitions in topics.values():
            self._world.note_partitions = self._world.note_partitions or partitions

    def partitions(self, topic):
        return self._world.note_partitions

    def grow(self, topic, partitions):
        self._world.simulation.step("grow", topic)
        self._world.note_partitions = max(self._world.note_partitions, partitions)

    def patiently(self, doing, act):
        for _ in range(20):
            try:
                return act()
            except client().KafkaException as failure:
                if not lost(failure.args[0]):
                    raise
        raise Lost(doing)


class ModelCommits(Commits):
    """The product's transactions, over the model of a broker: of all who begin those of a task the last has them."""

    def __init__(self, world, plan):
        super().__init__(ModelCluster(world), plan.application_id, plan.instance, plan.epoch)
        self._world = world

    def _of_all(self, tasks, doing, act):
        for task in range(tasks):
            self._cluster.patiently(doing, partial(act, task))

    def _begun(self, task, rules=()):
        self._world.simulation.step("begin transactions", str(task))
        self._world.fences[task] += 1
        return self._world.fences[task]

    def _commit(self, sender, task, records, note):
        self._world.simulation.step("commit transaction", f"{task} {note}")
        if sender != self._world.fences[task]:
            raise client().KafkaException(client().KafkaError(client().KafkaError._FENCED))
        for partition, counted in records:
            self._world.publish(partition, counted)
        self._world.notes[task].append(note)

    def _notes(self, task, *, whole):
        self._world.simulation.step("read notes", str(task))
        return list(self._world.notes[task])

    def _tasks(self):
        return self._world.note_partitions


class ModelKafka(ModelHome, KafkaBackend):
    """The product's home of topics on Kafka, over the model of a broker."""

    def __init__(self, world):
        self._world = world
        self._cluster = ModelCluster(world)

    def first_offsets(self, places, known):
        return {}

    def write(self, plan, outputs, metrics, task):
        records = [(frame.target, _decoded(frame)) for frame in outputs]
        output = SimpleNamespace(rules={}, records=lambda: records)
        return [], self._write(plan, output, task)

    def publish(self, plan, state):
        pass

    def _commits(self, plan):
        return ModelCommits(self._world, plan)


class InMemory(MutableMapping):
    """Stands in for a dict that each process has for itself."""

    def __init__(self, what):
        self._what = what

    def __getitem__(self, owner):
        return self._own()[owner]

    def __setitem__(self, owner, session):
        self._own()[owner] = session

    def __delitem__(self, owner):
        del self._own()[owner]

    def __iter__(self):
        return iter(self._own())

    def __len__(self):
        return len(self._own())

    def _own(self):
        actor = World.present.simulation.current
        return World.present.memory[self._what, actor.name if actor is not None else ""]


BLUEPRINT = SimpleNamespace(
    sub=SimpleNamespace(
        number=0, internal_topics=(), source_topics=("in",), global_topics=(), sinks=(), handed_over=(), stores=(STORE,)
    ),
    defaults=SimpleNamespace(guard=None, error_handlers=SimpleNamespace(dead_letter_topic=None)),
    stores=(STORE,),
    extractors={},
    ticks=False,
)
STAGE = Stage(0, BLUEPRINT, PARTITIONS, inline=False)
CORES = 2


def make_plan(graph, config, topics, *, instance, epoch, run, partitions_before):
    """Stands in for what makes a plan of a topology."""
    return Plan(
        application_id="model",
        topics_dir="",
        broker="a model" if World.present.kafka else None,
        auto_offset_reset="earliest",
        exactly_once=True,
        state_dir=str(config.state_dir),
        local_dir=None,
        instance=instance,
        epoch=epoch,
        stages=(STAGE,),
        partitions={"in": PARTITIONS, "out": PARTITIONS},
        sink_topics=("out",),
        spark_partitions=1,
        fuses=True,
        max_records=100,
        commit_interval_s=0.0,
        sync_state=True,
        retention_ms=World.present.retention_ms,
        run=run,
        clock=lambda: World.present.clock_ms,
    )


def ingest(plan, topic, partition, first, last, tick):
    """Stands in for the reading of records: which ones says all about them."""
    yield Frame(0, plan.routes[0][0][partition], -1, partition, 0, 0, msgspec.json.encode((first, last)))


def run_task(plan, stage, partition, received, durable, describe):
    """Stands in for a topology: counts keys, and looks whether its store has what all records before left there."""
    replica = reading.Replica(World.present.replica_directory / task_name(stage, partition))
    made = []
    with TaskState(durable, replica, describe, policy=POLICY) as state:
        counts = state.store(STORE)
        for frame in received:
            first, last = msgspec.json.decode(frame.payload)
            assert dict(counts.range(None, None)) == contents(partition, first)
            for offset in range(first, last):
                key = STORIES[partition].upto(last).output[offset].key
                count = int(counts.get(key.encode()) or b"0") + 1
                if count == 7:
                    counts.delete(key.encode())
                else:
                    counts.put(key.encode(), b"%d" % count)
                made.append(Counted(partition, offset, key, count))
        state.commit()
    yield Frame(TO_SINK, partition, 0, partition, 0, 0, msgspec.json.encode(made))


def _decoded(frame):
    return msgspec.json.decode(frame.payload, type=list[Counted])


def encode_columns(delta):
    """Stands in for Arrow: this is done thousands of times, of very little."""
    payload = msgspec.msgpack.encode(delta)
    return Encoded(seal(payload), len(payload))


def decode_columns(blob, describe):
    return msgspec.msgpack.decode(unseal(blob, describe), type=dict[str, Columns])


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch):
    """The world in place of Spark, disk, clocks and topics; all else is the product's own."""
    stands_in = monkeypatch.setattr
    stands_in(state_directory, "DiskFiles", lambda root, sync: World.present.files)
    stands_in(state_directory, "StateLog", Watched)
    stands_in(starting, "make_plan", make_plan)
    stands_in(starting, "layout_of", lambda plan, config: ())
    stands_in(starting, "backend_of", lambda settings: World.present.home(_plan_of(settings)))
    stands_in(fused, "ingest", ingest)
    stands_in(fused, "FinishFile", lambda state_dir: SimpleNamespace(asks=lambda run: False))
    stands_in(fused, "time", SimpleNamespace(monotonic=_seconds))
    stands_in(stage, "run_task", run_task)
    stands_in(kafka_commits, "_sessions", InMemory("sessions"))
    stands_in(changelog, "_recent", InMemory("recent"))
    stands_in(kafka_commits, "time", SimpleNamespace(sleep=lambda seconds: World.present.simulation.rest(50)))
    stands_in(batch_planner, "_RECORD_US", 1e5)
    stands_in(objects, "_SPARSE_BYTES_AT_LEAST", 100)
    stands_in(objects, "_DEAD_BYTES_AT_LEAST", 1000)
    stands_in(state_logs, "_BASE_EVERY", BASE_EVERY)
    stands_in(state_logs, "_KEEP_BEFORE_BASE", KEEP_BEFORE_BASE)
    for module in (starting, committing):
        stands_in(module, "system_clock", lambda: World.present.clock_ms)


@pytest.fixture
def quick(monkeypatch):
    """No LMDB and no Arrow."""
    stands_in = monkeypatch.setattr
    stands_in(reading, "Replica", lambda directory: MemoryReplica(World.present.replicas, directory))
    for module in (changelog, compaction):
        stands_in(module, "encode_columns", encode_columns)
    for module in (changelog, restore, reading):
        stands_in(module, "decode", decode_columns)


def _plan_of(settings):
    return settings if isinstance(settings, Plan) else SimpleNamespace(state_dir=str(settings.state_dir), epoch=0)


def _seconds():
    World.present.seconds += 0.5
    return World.present.seconds


def run_application(actor):
    """A start of the application, with Spark's part in it: rounds and spread batches in workers that may be lost."""
    Driver(World.present, actor).run()


class Driver:
    def __init__(self, world, actor):
        self._world = world
        self._actor = actor
        self._workers = []

    def run(self):
        world = self._world
        config = SimpleNamespace(application_id="model", state_dir=Path(self._actor.name), sync_state=True)
        wanted = world.random.choice((None, None, 1, 2, 3))
        plan = self._actor.plan = starting.start(None, config, self._actor.name, partial(parallelism, CORES, wanted))
        world.started(plan)
        home = world.home(plan)
        planner, step = BatchPlanner(plan, home), 0
        while not world.calm or world.until is not None:
            step += 1
            view = current_view(plan)
            home.publish(plan, view.state)
            batch = planner.next(view, world.until)
            if batch is None:
                return
            if batch.spread:
                self._run_spread(plan, planner, view, msgspec.structs.replace(batch, step=step))
            else:
                self._in_worker(plan, lambda plan: FusedRound(plan, world.home(plan), world.until).run())

    def _run_spread(self, plan, planner, view, batch):
        """As reader, stages and writer of a query do."""
        world = self._world
        if plan.plans_first:
            state_log(plan).plan(view, batch)
        ranges = plan.ranges(planner.starts(current_view(plan)), batch.ends)
        frames = [frame for place, first, last in ranges for frame in ingest(plan, *place, first, last, None)]
        routes = plan.routes[0][0]
        made = []
        for number in range(plan.spark_partitions):
            received = [frame for frame in frames if routes.index(frame.target) % plan.spark_partitions == number]
            if received:
                made += self._in_worker(plan, partial(_run_stage, batch=batch, number=number, received=received))
        parts = []
        for task in range(plan.spark_partitions):
            received = [frame for frame in made if frame.target % plan.spark_partitions == task]
            sink = SinkTask(task, step=batch.step)
            write = partial(_write_part, received=received, sink=sink)
            parts.append(self._in_worker(plan, write))
        self._in_worker(
            plan,
            lambda plan: commit(plan, world.home(plan), current_view(plan, batch.batch - 1), batch, parts),
            attempts=1,
        )

    def _in_worker(self, plan, body, attempts=3):
        """Runs a task, again if its process is killed; now and then also where nobody waits for it."""
        world = self._world
        if attempts > 1 and not world.calm and world.random.random() < 0.15:
            world.spawn_attempt(plan, body)
        for _ in range(attempts):
            if len(self._workers) < 2 or world.random.random() < 0.3:
                self._workers.append(world.named("worker"))
            name = world.random.choice(self._workers)
            self._actor.names.add(name)
            with suppress(Killed), world.simulation.process(name) as process:
                try:
                    return body(replace(plan, state_dir=name))
                except Killed as killed:
                    self._workers.remove(name)
                    if killed.process is not process:
                        raise
        raise Lost


def _write_part(plan, *, received, sink):
    return write_part(plan, World.present.home(plan), received, sink)


def _run_stage(plan, *, batch, number, received):
    view = current_view(plan)
    if view.state.batch != batch.batch - 1:
        raise Lost  # nobody waits for what it would make, from a state that is not the one before the batch
    with TaskRunner(plan, view, f"0.{number}") as runner:
        return [*runner.run_stage(STAGE, received), runner.finish()]


def read_now_and_then(actor):
    """Somebody who looks at the stores beside the application, with long pauses: finds what one commit left there."""
    world = World.present
    log = state_directory.open_log(actor.name, "model")
    names = [task_name(STAGE, partition) for partition in range(PARTITIONS)]
    while not world.calm:
        world.simulation.rest(world.random.choice((1, 20, 300)))
        first = world.newest
        read = CommittedTasks.read(log, names, world.replica_directory, "a reader")
        found = [
            dict(read.snapshots[name].reader(STORE).range(None, None)) if name in read.snapshots else {}
            for name in names
        ]
        offsets = [seen.offsets for number, seen in world.history.items() if number >= first] or [{}]
        assert found in [[contents(p, at.get(f"in-{p}", 0)) for p in range(PARTITIONS)] for at in offsets]


def live_through(world):
    """One world from its beginning to its end, which is as if nothing had happened; gives the number of crashes."""
    simulation = world.simulation
    try:
        world.spawn_start()
        simulation.run()
        for more in (5, 40):
            run_undisturbed(world, more)
    except BaseException as failure:
        crashes = f"{simulation.crashes} crashes, {simulation.power_losses} of them power losses"
        story = f"{world.described}: {crashes}, in {simulation.steps} steps. The last ones:\n{simulation.told()}"
        failure.add_note(story)
        raise
    return simulation.crashes


def run_undisturbed(world, more):
    """A start goes on where others ended, for some records of each partition."""
    world.calm_down()
    last = world.history[world.newest].offsets if world.newest else {}
    world.until = {f"in-{p}": last.get(f"in-{p}", 0) + more for p in range(PARTITIONS)}
    world.simulation.spawn(world.named("start"), world.guarded(run_application))
    world.simulation.run()
    world.check_all()


TOPICS = pytest.mark.parametrize("kafka", [False, True], ids=["embedded", "kafka"])
SEEDS = [range(first, first + examples(25)) for first in (0, 1_000)]


@TOPICS
@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"seeds {seeds.start} to {seeds.stop - 1}")
@pytest.mark.usefixtures("quick")
def test_no_crash_loses_output_or_state_or_makes_any_twice(kafka, seeds):
    began_s = time.monotonic()
    crashes = sum(live_through(World(seed, kafka=kafka, crashes=40)) for seed in seeds)
    print(f"\n{crashes} crashes in {time.monotonic() - began_s:.1f} s")
    assert crashes > 10 * len(seeds)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_hundred_thousand_crashes():
    crashes, seed, began_s = 0, 1_000, time.monotonic()
    while crashes < 100_000:
        crashes += live_through(World(seed, kafka=seed % 2 == 0, crashes=100))
        seed += 1
    print(f"\n{crashes} crashes in {time.monotonic() - began_s:.0f} s, seeds 1000 to {seed - 1}")


@TOPICS
def test_nor_with_replicas_and_blobs_as_they_are(kafka, tmp_path):
    for seed in range(examples(20)):
        live_through(World(seed, kafka=kafka, crashes=10, replicas=tmp_path / str(seed)))


class Once:
    """One thing happens to the first start, at one step of its first batches. Others then run some batches, and nothing
    happens to them; if it was only stopped it goes on after that.
    """

    def __init__(self, step, fate, batches):
        self.happened = False
        self._step = step
        self._fate = fate
        self._ends_with = batches

    def __call__(self, world, what, where):
        batch = world.history[world.newest].batch if world.newest else -1
        if batch >= self._ends_with or (batch >= 5 and not self.happened):
            world.calm_down()
        elif not self.happened and world.simulation.current.processes[0].name == "/start/1":
            self._step -= 1
            if self._step < 0:
                self.happened = True
                return self._fate
        return GO_ON


def happens_at_every_step(fate, batches, *, kafka, of=1):
    """Or at one of so many, and of many more in the quick tests. Gives the number of steps."""
    for step in count(5 % of, of) if examples(10) == 10 else count(5, 19):
        script = Once(step, fate, batches)
        live_through(World(step, kafka=kafka, crashes=1000, script=script))
        if not script.happened:
            return step
    raise AssertionError


@TOPICS
@pytest.mark.parametrize("fate", [KILL, KILL_ALL, LOSE_POWER], ids=["a process is killed", "all are", "power loss"])
@pytest.mark.usefixtures("quick")
def test_a_start_may_end_at_any_step(kafka, fate):
    assert happens_at_every_step(fate, 8, kafka=kafka) > 100


@TOPICS
@pytest.mark.usefixtures("quick")
def test_a_start_that_was_stopped_at_any_step_ends_when_others_have_gone_on_for_long(kafka):
    assert happens_at_every_step(FOREVER, 30, kafka=kafka) > 100


@pytest.mark.slow
@TOPICS
@pytest.mark.usefixtures("quick")
def test_it_ends_when_they_have_deleted_as_much_of_the_log_as_they_really_do(kafka, monkeypatch):
    monkeypatch.setattr(state_logs, "_BASE_EVERY", REAL_NUMBERS[0])
    monkeypatch.setattr(state_logs, "_KEEP_BEFORE_BASE", REAL_NUMBERS[1])
    assert happens_at_every_step(FOREVER, 150, kafka=kafka, of=9) > 100


class Plot:
    """Things happen one after the other, each at the first step that is the one it waits for; then some batches run."""

    def __init__(self, *turns):
        self.turns = list(turns)

    def __call__(self, world, what, where):
        if not self.turns:
            if world.newest and world.history[world.newest].batch >= 5:
                world.calm_down()
            return GO_ON
        awaited, fate = self.turns[0]
        if not f"{what} {where}".startswith(awaited):
            return GO_ON
        del self.turns[0]
        if fate == WAKE:
            for actor in world.simulation.actors:
                actor.stopped_until = 0
        return fate


ENTRIES, WAKE = f"{ROOT}/log", SWITCH
PLOTS = {
    "nobody acts on an entry that a power loss may take back": (
        (f"link {ENTRIES}/000000000002", GO_ON),
        (f"sync {ENTRIES}", KILL),
        ("{visible}", GO_ON),
        ("", LOSE_POWER),
    ),
    "directories are safe though whoever made them was killed": (
        (f"sync {ROOT}", GO_ON),
        (f"sync {ROOT}", KILL_ALL),
        ("{visible}", GO_ON),
        ("", LOSE_POWER),
    ),
    "one that sweeps late does not end the one that has taken over": (
        ("{prepared}", GO_ON),
        (f"list {ENTRIES}", FOREVER),
        (f"link {ENTRIES}/000000000003", WAKE),
    ),
}


@TOPICS
@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS.keys())
@pytest.mark.usefixtures("quick")
def test_what_went_wrong_once_does_not_again(kafka, plot):
    visible, prepared = ("commit transaction 0",) * 2 if kafka else ("publish batch 0", "sweep topics")
    for seed in range(10):
        script = Plot(*((awaited.format(visible=visible, prepared=prepared), fate) for awaited, fate in plot))
        live_through(World(seed, kafka=kafka, crashes=1000, script=script))
        assert not script.turns


class Damaged(NamedTuple):
    """A file, what was done to it, and what it holds now; `None` if it is gone."""

    path: str
    how: str
    data: bytes | None


def damages(path, data, random):
    yield Damaged(path, "is gone", None)
    yield Damaged(path, "is empty", b"")
    yield Damaged(path, "is cut short", data[: random.randrange(len(data))])
    yield Damaged(path, "has zeros at its end", data[: -len(data) // 3] + bytes(len(data) // 3))
    for at in (0, len(data) - 1, *random.sample(range(len(data)), min(len(data), examples(20)))):
        flipped = data[at] ^ (1 << random.randrange(8))
        yield Damaged(path, f"is altered at byte {at}", data[:at] + bytes([flipped]) + data[at + 1 :])


def outcome(world):
    """What a start says, or what all tasks then hold."""
    world.homes.clear()
    world.memory.clear()
    world.replicas.clear()
    actor = SimpleNamespace(name=world.named("start"))
    config = SimpleNamespace(application_id="model", state_dir=Path(actor.name), sync_state=True)
    try:
        plan = starting.start(None, config, "", partial(parallelism, CORES, 1))
        view = current_view(plan)
        world.check_state(view)
    except StateError as error:
        return str(error)
    return view.state


@pytest.mark.usefixtures("quick")
def test_damage_is_an_error_that_names_the_file_and_never_another_state():
    random = Random(1)
    world = World(1, script=lambda *_: GO_ON)
    world.retention_ms = 1000
    run_undisturbed(world, 70)
    world.watches = False
    disk, whole = world.simulation.disk, world.simulation.disk.contents()
    undamaged, newest = outcome(world), max(path for path in whole if path.startswith("log/"))
    told = 0
    for path, data in whole.items():
        for damage in damages(path, data, random):
            disk.replace_contents({name: kept for name, kept in whole.items() if name != path})
            if damage.data is not None:
                disk.replace_contents({**whole, path: damage.data})
            said = outcome(world)
            if said == undamaged:
                continue  # nobody needs it
            told += 1
            assert isinstance(said, str), damage
            name = path.partition("/")[2]
            if (path, damage.how) == (newest, "is gone"):
                assert "The state directory is older than the topics" in said  # nothing else can know of it
            else:
                assert name in said or f"entry {name.lstrip('0')} of the state log" in said, (damage, said)
    assert told > len(whole)
