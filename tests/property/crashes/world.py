"""The simulated world: one disk, the topics and all starts of the application, with checks of what they do."""

from __future__ import annotations

import shutil
from collections import defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from headrace._runtime.spark.stages.task_runner import task_name
from headrace._runtime.spark.state_directory import log as state_directory
from headrace._runtime.spark.state_directory.log import state_log
from headrace._state.changes.task_state import TaskState
from headrace._state.log import entries
from headrace._state.log import state_log as state_logs
from headrace._state.log.state_log import StateLog, TakenOverError
from headrace._state.log.task import LoggedTask
from headrace.errors import StateError
from tests.property.crashes.application import STAGE, STORE, read_now_and_then, run_application
from tests.property.crashes.events import RANDOM_EVENTS
from tests.property.crashes.expected import EXPECTED, PARTITIONS, contents
from tests.property.crashes.replicas import MemoryReplica
from tests.property.crashes.topics import BatchLost, ModelKafka, ModelTopics
from tests.support.simulation.disk import ROOT
from tests.support.simulation.os_calls import product_files
from tests.support.simulation.scheduler import CONTINUE, SWITCH, Simulation

REPLICAS = Path("/replicas/of/nobody")
MOST_STEPS_A_CRASH = 80


class WatchedLog(StateLog):
    """The product's state log, with a check that every entry it reports as written really counts."""

    def _append(self, before, entry, *rest):
        view = super()._append(before, entry, *rest)
        if World.current.checks_log:
            World.current.check_append(view, entry)
        return view


class SeenEntry(NamedTuple):
    """An entry that appeared in the log: who wrote it, and the state after it."""

    process: str
    epoch: int
    batch: int
    offsets: dict[str, int]
    planned: bool


class World:
    """One disk, the topics and all starts of the application. It records what they do, and asserts what must hold."""

    current: World

    def __init__(self, seed, *, kafka=False, crashes=0, script=None, replicas=None):
        World.current = self
        self.described = f"World({seed}, kafka={kafka}, crashes={crashes})"
        self.random = Random(seed)
        self.kafka = kafka
        self.script = script or RANDOM_EVENTS[seed % len(RANDOM_EVENTS)]
        self.simulation = Simulation(self.random, self.next_event)
        self.simulation.disk.appeared = self.on_new_file
        self.simulation.when_power_fails = self.on_power_loss
        self.files = product_files(self.simulation.disk)
        self.crashes = crashes
        self.undisturbed = False
        self.checks_log = True
        self.until = None
        self.replicas = {}
        self.replica_directory = replicas or REPLICAS
        self.backends = {}
        self.process_memory = defaultdict(dict)
        self.retention_ms = self.random.choice((0, 3, 30))
        self.clock_ms = 0
        self.seconds = 0.0
        self.names = defaultdict(int)
        # The content of topics. If the power fails before embedded ones are synced, they may be as in `durable_topics`.
        self.durable_topics = None
        self.output = [[] for _ in range(PARTITIONS)]
        self.published = {}
        self.segments = {}
        self.committed_segments = set()
        self.fences = defaultdict(int)
        self.notes = defaultdict(list)
        self.note_partitions = 0
        # The entries of the log by number, and the steps at which things happened.
        self.history = {}
        self.newest = 0
        self.acknowledged = 0
        self.published_at = 0
        self.started_at = {}
        self.created_at = {}
        state_directory._open_cached.cache_clear()

    # Events.

    def next_event(self, simulation, what, where):
        self.clock_ms += 1
        if self.undisturbed:
            return SWITCH if self.random.random() < 0.1 else CONTINUE
        if simulation.crashes >= self.crashes or simulation.steps >= self.crashes * MOST_STEPS_A_CRASH:
            self.stop_events()
        event = self.script(self, what, where)
        if event > SWITCH:
            self.ensure_running(besides=simulation.current)
        return event

    def stop_events(self):
        """Ends all failures; actors that were stopped continue, and end."""
        self.undisturbed = True
        for actor in self.simulation.actors:
            actor.stopped_until = 0

    def new_name(self, kind):
        self.names[kind] += 1
        return f"/{kind}/{self.names[kind]}"

    def ensure_running(self, besides=None):
        """Spawns a start unless one is running: if all actors were stopped, none would stay stopped for long."""
        simulation = self.simulation
        others = [
            actor
            for actor in simulation.actors
            if actor is not besides
            and actor.stopped_until <= simulation.steps
            and actor.processes[0].name.startswith("/start/")
            and not actor.processes[0].dead
        ]
        if not self.undisturbed and not others:
            self.spawn_start()

    def spawn_start(self):
        if len(self.simulation.actors) < 8:
            self.simulation.spawn(self.new_name("start"), self.allowing_takeover(partial(run_application, self)))
        if self.random.random() < 0.1 and not any(actor.name.startswith("/reader") for actor in self.simulation.actors):
            self.simulation.spawn(self.new_name("reader"), partial(read_now_and_then, self))

    def spawn_attempt(self, plan, body):
        """Spawns a task attempt that Spark has given up, but that is still running."""
        if len(self.simulation.actors) < 8:
            name = self.new_name("cut off")
            self.simulation.spawn(name, self.allowing_takeover(lambda _: body(replace(plan, state_dir=name)), plan))

    def allowing_takeover(self, body, plan=None):
        """Wraps the body of an actor: an error may end it only if another start or attempt has superseded it."""

        def run(actor):
            actor.plan, actor.names = plan, {actor.name}
            try:
                body(actor)
            except BatchLost:
                pass
            except StateError as error:
                self.check_ending(actor, error)
            finally:
                self.ensure_running(besides=actor)

        return run

    def check_ending(self, actor, error):
        """Checks that an actor ended because another one has taken over, and for no other reason."""
        by_kafka = self.kafka and type(error) is StateError and "was started again at Kafka" in str(error)
        if isinstance(error, TakenOverError) or by_kafka:
            own = [seen.epoch for seen in self.history.values() if seen.process in actor.names]
            epoch = max(own, default=0) if actor.plan is None else actor.plan.epoch
            writers = {seen.process for seen in self.history.values() if seen.epoch == epoch}
            if self.history[self.newest].epoch > epoch or writers - actor.names:
                return
            error.add_note("no other process has written")
        raise error

    # Checks of the log while it is written.

    def on_power_loss(self):
        self.replicas.clear()
        shutil.rmtree(self.replica_directory, ignore_errors=True)
        if self.durable_topics is not None and self.random.random() < 0.5:
            self.output, self.published, self.committed_segments = self.durable_topics
        self.durable_topics = None
        newest = max(map(int, filter(str.isdigit, self.simulation.disk.names("log"))), default=0)
        assert newest >= self.acknowledged, "an entry that was reported as written is lost"
        self.history = {number: seen for number, seen in self.history.items() if number <= newest}
        self.newest = newest
        batch, planned = (self.history[newest].batch, self.history[newest].planned) if newest else (-1, False)
        for written in self.published.values():
            assert written <= batch, "output was published, but its commit is lost"
        for notes in self.notes.values():
            for note in notes:
                assert note.batch <= batch + planned, "output is in Kafka, but the plan of its batch is lost"

    def on_new_file(self, path, data):
        directory, _, name = path.rpartition("/")
        if directory == f"{ROOT}/state":
            self.created_at[name] = self.simulation.steps
        elif name.isdigit() and self.checks_log:
            self.on_new_entry(int(name), entries.decode(data, path))

    def on_new_entry(self, number, entry):
        """Records and checks an entry that appeared in the log, if its number makes it count."""
        process = self.simulation.current.name
        if number != self.newest + 1:
            return  # its writer must not take it for written: see `check_append`
        last = self.history.get(self.newest, SeenEntry("", 0, -1, {}, planned=False))
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
            assert self.published_up_to(last.batch), "a batch is committed before the previous one is published"
            seen = SeenEntry(process, entry.epoch, entry.commit.batch, last.offsets | entry.commit.offsets, False)
        self.newest = number
        self.history[number] = seen

    def published_up_to(self, batch):
        return self.kafka or batch < 0 or max(self.published.values(), default=-1) >= batch

    def check_append(self, view, entry):
        """Checks an entry that a process believes to have written."""
        seen = self.history.get(view.number)
        own = seen is not None and seen.process == self.simulation.current.name and seen.epoch == entry.epoch
        assert own, f"entry {view.number} does not count, but its writer takes it for written"
        assert view.state.batch == seen.batch
        self.acknowledged = max(self.acknowledged, view.number)

    # Checks of output and state.

    def remember_published(self):
        """Saves what a power loss leaves of the topics, if the commit that follows is not synced by then."""
        if self.durable_topics is None:
            output = [list(partition) for partition in self.output]
            self.durable_topics = output, dict(self.published), set(self.committed_segments)

    def publish(self, partition, records):
        self.published_at = self.simulation.steps
        written = self.output[partition]
        expected = EXPECTED[partition].up_to(len(written) + len(records)).output
        assert records == expected[len(written) : len(written) + len(records)], "output is lost or duplicated"
        written += records

    def check_start(self, plan):
        """Checks after a start that the state is that of the last commit, and that unneeded objects were deleted."""
        with self.simulation.without_steps():
            view = state_log(replace(plan, state_dir=self.new_name("observer"))).view()
            if view.epoch != plan.epoch or view.state.batch >= view.start.first_batch:
                return
            self.check_state(view)
            known = view.state.objects.keys() | view.state.dead.keys()
            leftovers = [
                name
                for name in set(self.simulation.disk.names("state")) - known
                if int(name.split("-")[0]) < plan.epoch and self.created_at[name] < self.started_at[plan.epoch]
            ]
            assert not leftovers, "unneeded objects of earlier starts were not deleted"
            self.check_size()

    def check_state(self, view):
        """Checks the store of every task, restored without a replica."""
        stored = {}
        for partition in range(PARTITIONS):
            name = task_name(STAGE, partition)
            durable = LoggedTask(self.files, None, name, view.state.heads.get(name), name)
            with TaskState(durable, MemoryReplica({}, REPLICAS), name) as state:
                stored[partition] = dict(state.store(STORE).range(None, None))
        offsets = {partition: view.state.offsets.get(f"in-{partition}", 0) for partition in range(PARTITIONS)}
        assert stored == {partition: contents(partition, offset) for partition, offset in offsets.items()}

    def check_size(self):
        retained = [name for name in self.simulation.disk.names("log") if name.isdigit()]
        most = state_logs._BASE_EVERY + state_logs._KEEP_BEFORE_BASE + 10
        assert len(retained) <= most, f"the log still has {len(retained)} entries"

    def check_all(self):
        """Checks output, state and files after an undisturbed start has ended and no other actor is left."""
        view = WatchedLog(self.files, "the end").view()
        assert view.state.offsets == self.until
        ends = self.until.values()
        assert self.output == [run.up_to(end).output[:end] for run, end in zip(EXPECTED, ends, strict=True)]
        self.check_state(view)
        self.check_size()
        assert set(self.simulation.disk.names("state")) == view.state.objects.keys() | view.state.dead.keys()

    # What the application reads.

    def backend(self, plan):
        key = (plan.state_dir, plan.epoch)
        if key not in self.backends:
            self.backends[key] = ModelKafka(self) if self.kafka else ModelTopics(self)
        return self.backends[key]

    def batch_ends(self, starts):
        """The end offsets of the next batch: a few records of each partition, at least one in all."""
        if self.until is not None:
            return [min(start + 10, self.until[f"in-{partition}"]) for partition, start in enumerate(starts)]
        counts = [self.random.choice((0, 0, 1, 2, 4)) for _ in starts]
        return [
            start + count for start, count in zip(starts, counts if any(counts) else [1] * len(counts), strict=True)
        ]


def run_world(world):
    """Runs a world with its crashes, then undisturbed, and checks that nothing was lost; returns the crash count."""
    simulation = world.simulation
    try:
        world.spawn_start()
        simulation.run()
        for more in (5, 40):
            run_undisturbed(world, more)
    except BaseException as failure:
        crashes = f"{simulation.crashes} crashes, {simulation.power_losses} of them power losses"
        summary = f"{world.described}: {crashes}, in {simulation.steps} steps. The last ones:"
        failure.add_note(f"{summary}\n{simulation.describe_last_steps()}")
        raise
    return simulation.crashes


def run_undisturbed(world, more):
    """Continues with one start, without failures, for `more` records of each partition."""
    world.stop_events()
    last = world.history[world.newest].offsets if world.newest else {}
    world.until = {f"in-{p}": last.get(f"in-{p}", 0) + more for p in range(PARTITIONS)}
    world.simulation.spawn(world.new_name("start"), world.allowing_takeover(partial(run_application, world)))
    world.simulation.run()
    world.check_all()
