"""A broker that fails and comes back: a running application waits for it, then continues."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.commits import Commits
from headrace.topics.kafka.groups import ConsumerGroup
from tests.kafka.test_topics import await_sent, has_open_transaction, outgoing, written
from tests.support import state_logs

pytestmark = pytest.mark.kafka


@contextmanager
def outage(broker, seconds):
    """Kills the broker and restarts it in the background after some seconds."""
    broker.kill()
    back = threading.Timer(seconds, broker.start)
    back.start()
    try:
        yield
    finally:
        back.join()


@pytest.fixture
def cluster(broker):
    return KafkaCluster(broker.bootstrap_servers, retry_timeout_s=120)


def test_requests_during_an_outage_are_answered_when_the_broker_is_back(topics, broker, cluster):
    topics.create("t", partitions=1)
    topics.produce("t", [hr.Record("k", "v", 7)], value_serde=serdes.String())
    with ThreadPoolExecutor(3) as threads, outage(broker, 1):
        read = threads.submit(lambda: [batch.column("value").to_pylist() for batch in cluster.read("t", 0, 0, 1)])
        committed = threads.submit(ConsumerGroup(cluster, "group").commit, {("t", 0): 1})
        listed = threads.submit(cluster.topics)
    assert (read.result(), committed.result(), listed.result()) == ([[b"v"]], None, {"t": 1})


def test_offsets_may_arrive_late_but_are_never_wrong(topics, broker, cluster):
    topics.create("t", partitions=3)
    topics.produce("t", [hr.Record("k", 1, 7, partition=partition) for partition in range(3)])
    answers = set()
    back = threading.Event()

    def ask():
        while not back.is_set():
            answers.add(tuple(cluster.end_offsets([("t", partition) for partition in range(3)])))

    with ThreadPoolExecutor(2) as threads:
        asking = [threads.submit(ask) for _ in range(2)]
        while not answers:
            time.sleep(0.01)
        with outage(broker, 0):
            pass
        back.set()
    assert [one.result() for one in asking] == [None, None]
    assert answers == {(1, 1, 1)}


def test_transaction_continues_when_the_broker_is_back(topics, broker, cluster):
    topics.create("out", partitions=1)
    commits = Commits(cluster, "app", "instance", start=1)
    commits.take_over(1)

    def interrupted():
        yield from outgoing("a")
        await_sent(cluster, "out")
        with outage(broker, 1):
            yield from outgoing("b")

    assert commits.write(0, 0, interrupted).written
    assert not commits.write(0, 0, interrupted).written
    assert written(topics, commits) == ["a", "b"]


@pytest.mark.slow
def test_transaction_that_kafka_aborted_meanwhile_is_repeated(topics, broker):
    settings = {"transaction.timeout.ms": 2_000, "message.timeout.ms": 2_000}
    topics.create("out", partitions=1)
    commits = Commits(KafkaCluster(broker.bootstrap_servers, settings, retry_timeout_s=120), "app", "instance", start=1)
    commits.take_over(1)
    attempts = []

    def too_late():
        attempts.append(time.monotonic())
        yield from outgoing("a")
        if len(attempts) == 1:
            await_sent(commits._cluster, "out")
            with outage(broker, 3):
                pass
            while has_open_transaction(commits._cluster, "out"):
                time.sleep(0.1)
        yield from outgoing("b")

    assert commits.write(0, 0, too_late).written
    assert len(attempts) == 2
    assert written(topics, commits) == ["a", "b"]


@pytest.mark.slow
@pytest.mark.spark
def test_running_application_fails_after_its_timeout_and_continues_when_started_again(topics, broker, config, spark):
    builder = hr.StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")
    topology, settings = builder.build(), config(task_timeout=timedelta(seconds=10))
    topics.create("in", partitions=1)
    topics.produce("in", [hr.Record("a", 1, 1)])
    app = hr.Streams(topology, settings, spark=spark)
    app.start()
    await_batch(settings, 0)
    broker.kill()
    try:
        with pytest.raises(
            hr.TopicError, match=r"No Kafka broker at .* answered within 10 s when asked to list its off"
        ):
            app.await_termination(timedelta(minutes=5))
        with pytest.raises(hr.TopicError, match=r"answered within 10 s when asked to list its topics"):
            hr.Streams(topology, settings, spark=spark).process_available()
    finally:
        broker.start()
    topics.produce("in", [hr.Record("a", 1, 2)])
    hr.Streams(topology, settings, spark=spark).process_available()
    assert topics.read("out", value_serde=serdes.Long()) == [hr.Record("a", 1, 1), hr.Record("a", 2, 2)]


@pytest.mark.slow
@pytest.mark.spark
def test_application_that_waits_for_a_broker_can_be_stopped(topics, broker, config, spark):
    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    topics.create("in", partitions=1)
    topics.produce("in", [hr.Record("a", 1, 1)])
    app = hr.Streams(builder.build(), config(task_timeout=timedelta(days=1)), spark=spark)
    app.start()
    await_batch(config(), 0)
    broker.kill()
    try:
        app.stop()
    finally:
        broker.start()
    assert topics.read("out") == [hr.Record("a", 1, 1)]


def await_batch(settings, number):
    """Waits until a batch is committed."""
    while state_logs.newest_committed(settings.state_dir) < number:
        time.sleep(0.05)
