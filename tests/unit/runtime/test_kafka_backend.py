"""When the backend of topics on Kafka asks the broker for end offsets, and which output topics it refuses."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from headrace._runtime.spark.topics.kafka import KafkaBackend
from headrace._state.log.entries import ApplicationState
from headrace.errors import TopicError

PLAN = SimpleNamespace(application_id="app", places=[("in", 0), ("in", 1)], global_topics=())


class Message:
    """A record that has arrived in partition 1 of the topic `in`."""

    def __init__(self, offset):
        self.offset = lambda: offset

    def topic(self):
        return "in"

    def partition(self):
        return 1

    def error(self):
        return None


class Consumer:
    """A consumer to which a test delivers messages."""

    def __init__(self):
        self.delivered = []

    def consume(self, number, within_s):
        messages, self.delivered = self.delivered[:number], self.delivered[number:]
        return messages

    def list_topics(self, topic, timeout):
        """Does nothing: the leaders are known."""

    def assign(self, positions):
        """Does nothing: the test delivers what it wants."""

    def unassign(self):
        """Does nothing."""


class Cluster:
    """A cluster with given end offsets, which counts how often it is asked for them."""

    def __init__(self, *ends):
        self.settings = {}
        self.ends = list(ends)
        self.requests = 0
        self.tail = Consumer()

    def consumer(self, **settings):
        return self.tail

    def end_offsets(self, places):
        self.requests += 1
        return self.ends

    def translate_errors(self, doing):
        return nullcontext()


def plan_batch(backend, *starts):
    return backend.admitted(PLAN, starts, backend.ends(PLAN.places), 100, None)


def test_broker_says_where_partitions_end_until_the_next_wait_if_arrived_records_are_behind_what_was_read():
    cluster = Cluster(10, 2)
    backend = KafkaBackend(cluster)
    backend.await_records(PLAN, [5, 0], 0.0)
    cluster.tail.delivered = [Message(0)]
    assert (plan_batch(backend, 8, 0), cluster.requests) == ([8, 1], 1)
    cluster.tail.delivered = [Message(1)]
    assert (plan_batch(backend, 8, 1), cluster.requests) == ([10, 2], 2)
    backend.await_records(PLAN, [10, 2], 0.0)
    cluster.tail.delivered = [Message(2)]
    assert (plan_batch(backend, 10, 2), cluster.requests) == ([10, 3], 2)


def test_output_topic_that_somebody_creates_with_other_partitions_during_the_start_is_refused():
    cluster = SimpleNamespace(settings={}, topics=lambda: {"in": 2, "out": 7})
    plan = SimpleNamespace(application_id="app", sink_topics=("out",), partitions={"in": 2, "out": 2})
    with pytest.raises(TopicError) as refused:
        KafkaBackend(cluster).prepare(plan, ApplicationState())
    assert str(refused.value) == (
        "Output topic 'out' has 7 partitions, but application 'app' expected 2: somebody created or changed it during "
        "the start. Start the application again, then it uses the topic as it is."
    )
