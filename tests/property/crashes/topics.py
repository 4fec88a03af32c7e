"""The topics of the simulated world: embedded ones and a broker, each under the product's own backend."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import msgspec

from headrace._runtime.spark.topics.embedded import EmbeddedBackend
from headrace._runtime.spark.topics.kafka import KafkaBackend
from headrace.errors import TopicError
from headrace.topics.embedded.log import SegmentRun
from headrace.topics.kafka.client import client, is_transaction_lost
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.commits import Commits
from tests.property.crashes.expected import PARTITIONS, Counted


class BatchLost(Exception):
    """Spark has given up a batch, and the query with it."""


class ModelTopicLog:
    """The log of embedded topics: a commit is visible at once, and durable when synced; repeated ones are ignored."""

    def __init__(self, world):
        self._world = world
        self._known = None
        self._synced = None

    def topics(self):
        self._current()
        return {"in": PARTITIONS}

    def begin_offsets(self, topic):
        return [0] * self.topics()[topic]

    end_offsets = begin_offsets

    def refresh(self):
        self._world.simulation.step("read topics")
        self._known = dict(self._world.published)

    def last_batch(self, producer):
        return self._current().get(producer)

    def commit(self, runs, *, producer=None, batch=None, create=None):
        world = self._world
        if producer is None:
            assert (runs, create) == ((), {"out": PARTITIONS})
            return True
        world.simulation.step("publish", f"batch {batch}")
        self._known = dict(world.published)
        if batch <= self._known.get(producer, -1):
            self._sync()
            self._remove([run.file for run in runs])
            return False
        world.remember_published()
        for run in runs:
            if run.file not in world.segments:
                message = f"the records of batch {batch} in {run.file} are gone"
                raise TopicError(message)
            world.publish(run.partition, world.segments[run.file][run.partition])
        world.committed_segments.update(run.file for run in runs)
        world.published[producer] = self._known[producer] = batch
        self._sync()
        return True

    def sync(self):
        if self._known != self._synced:
            self._sync()

    def _sync(self):
        self._world.simulation.step("sync topics")
        self._world.durable_topics = None
        self._synced = dict(self._known)

    @property
    def upkeep(self):
        return self

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


class ModelInput:
    """The input, which is the same for both kinds of topics: endless, read a few records at a time."""

    def ends(self, places):
        return [1 << 40 for _ in places]

    def admitted(self, plan, starts, ends, limit, now_ms):
        return self._world.batch_ends(starts)

    def locate(self, place, first, last):
        return None

    def read(self, place, first, last, located):
        return last


class ModelTopics(ModelInput, EmbeddedBackend):
    """The product's backend of embedded topics, on the model of their log."""

    def __init__(self, world):
        self._world = world
        self._log = ModelTopicLog(world)

    def write(self, plan, outputs, metrics, task):
        name = f"{plan.instance}-{plan.epoch}-{self._world.new_name('segment')}"
        self._world.simulation.step("write segment", name)
        self._world.segments[name] = {frame.target: decode_frame(frame) for frame in outputs}
        return [SegmentRun("out", frame.target, len(decode_frame(frame)), name, ()) for frame in outputs], {}


class ModelCluster:
    """A broker with what the product needs here; it never loses committed records."""

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

    def retry(self, doing, act):
        for _ in range(20):
            try:
                return act()
            except client().KafkaException as failure:
                if not is_transaction_lost(failure.args[0]):
                    raise
        raise BatchLost(doing)


class ModelCommits(Commits):
    """The product's transactions on the model of a broker, which fences all but the last producer of a task."""

    def __init__(self, world, plan):
        super().__init__(ModelCluster(world), plan.application_id, plan.instance, plan.epoch)
        self._world = world

    def _for_all_tasks(self, tasks, doing, act):
        for task in range(tasks):
            self._cluster.retry(doing, partial(act, task))

    def _open_sender(self, task, rules=()):
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

    def _await_decided(self, places):
        """Does nothing: the model loses no markers."""

    def _notes(self, task, *, whole):
        self._world.simulation.step("read notes", str(task))
        return list(self._world.notes[task])

    def _tasks(self):
        return self._world.note_partitions


class ModelKafka(ModelInput, KafkaBackend):
    """The product's backend of topics on Kafka, on the model of a broker."""

    def __init__(self, world):
        self._world = world
        self._cluster = ModelCluster(world)

    def reset_offsets(self, places, reset, now_ms):
        return [0] * len(places)

    def refuse_changed_topics(self, plan):
        pass

    def write(self, plan, outputs, metrics, task):
        records = [(frame.target, decode_frame(frame)) for frame in outputs]
        output = SimpleNamespace(rules={}, records=lambda: records)
        return [], self._write(plan, output, task)

    def publish(self, plan, state):
        pass

    def _commits(self, plan):
        return ModelCommits(self._world, plan)


def decode_frame(frame):
    return msgspec.json.decode(frame.payload, type=list[Counted])
