"""Transactions whose abort marker Kafka has lost: their records must not be committed with those of the next one."""

from __future__ import annotations

import re
import shlex
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import headrace as hr
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.commits import Commits
from tests.kafka.test_topics import await_sent, outgoing, written
from tests.support.broker import Broker, java

pytestmark = pytest.mark.kafka

OUTPUTS = {"out": 1}


def commits_of(servers, *, start, within_s, **settings):
    cluster = KafkaCluster(servers, settings, retry_timeout_s=within_s)
    return Commits(cluster, "app", "instance", start=start, outputs=lambda: OUTPUTS)


def open_transaction(servers, value, name="other", topic="out", **settings):
    """A producer with an uncommitted record in a topic. To a start this looks like a transaction without a marker."""
    cluster = KafkaCluster(servers, settings)
    producer = cluster.producer(**{"transactional.id": name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, value, b"k", 0, timestamp=1)
    await_sent(cluster, topic)
    return producer


def test_start_waits_for_transactions_that_others_have_open_in_its_output(topics, broker):
    topics.create("out", partitions=1)
    other = open_transaction(broker.bootstrap_servers, b"a")
    commits = commits_of(broker.bootstrap_servers, start=1, within_s=60)
    with ThreadPoolExecutor(1) as threads:
        start = threads.submit(commits.take_over, 1)
        while not commits.has_notes():
            time.sleep(0.02)
        assert not start.done()
        other.commit_transaction(30)
        start.result()
    assert commits.write(0, 0, lambda: outgoing("b")).written
    assert written(topics, commits) == ["a", "b"]


@pytest.mark.parametrize("topic", ["out", "app-headrace-commits"])
def test_start_refuses_output_with_records_that_stay_undecided(topics, broker, topic):
    topics.create("out", partitions=1)
    commits_of(broker.bootstrap_servers, start=1, within_s=60).take_over(1)
    [end] = KafkaCluster(broker.bootstrap_servers).end_offsets([(topic, 0)])
    other = open_transaction(broker.bootstrap_servers, b"{}", topic=topic)
    expected = rf"abort --topic {topic} --partition 0 --start-offset {end}\b"
    with pytest.raises(hr.TopicError, match=expected):
        commits_of(broker.bootstrap_servers, start=2, within_s=1).take_over(1)
    other.abort_transaction(30)


@pytest.mark.slow
def test_repeated_write_waits_until_the_lost_transaction_is_decided(topics, broker):
    topics.create("out", partitions=1)
    # Long enough for a loaded machine to be fenced and to write again within it.
    commits = commits_of(broker.bootstrap_servers, start=1, within_s=20)
    commits.take_over(1)
    others = []

    def fenced_once():
        yield from outgoing("a")
        if not others:
            await_sent(commits._cluster, "out")
            others.append(open_transaction(broker.bootstrap_servers, b"hangs", name="hanging"))
            commits._open_sender(0)
        yield from outgoing("b")

    with pytest.raises(hr.TopicError, match=r"Topic 'out', partition 0: the records from offset \d+ on are neither"):
        commits.write(0, 0, fenced_once)
    others[0].abort_transaction(30)
    others.append(open_transaction(broker.bootstrap_servers, b"hangs", name="hanging"))
    with pytest.raises(hr.TopicError, match="neither committed nor aborted"):
        commits.write(0, 0, lambda: outgoing("c"), repeated=True)
    assert commits.write(0, 0, lambda: outgoing("c")).written
    others[1].abort_transaction(30)
    assert written(topics, commits) == ["c"]


@pytest.mark.slow
def test_records_without_their_abort_marker_are_never_committed(tmp_path):
    """Kafka 4.3.1 loses markers if it looks for transactions that have timed out while it starts."""
    timed_out = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000}
    broker = Broker(tmp_path, settings=timed_out)
    broker.start()
    try:
        topics, expected, lost = hr.KafkaTopics(broker.bootstrap_servers), [], 0
        topics.create("out", partitions=1)
        for start in range(1, 9):
            servers = broker.bootstrap_servers
            short = {"transaction.timeout.ms": 2000, "message.timeout.ms": 2000}
            open_transaction(servers, b"never %d" % start, "app-0", **short)
            broker.kill()
            time.sleep(3)  # Kafka has no other clock: the transaction times out
            broker.start()
            time.sleep(3)  # the broker's first look at its transactions
            commits = commits_of(servers, start=start, within_s=20)
            try:
                commits.take_over(1)
            except hr.TopicError as refused:
                lost += 1
                _, *arguments = shlex.split(re.search(r"kafka-transactions\.sh .*--start-offset \d+", str(refused))[0])
                java("org.apache.kafka.tools.TransactionsCommand", *arguments)
                commits.take_over(1)
            commits.write(0, start, lambda start=start: outgoing(str(start)))
            expected.append(str(start))
            assert written(topics, commits) == expected
            if lost:
                return
        pytest.skip("this broker has written all markers")
    finally:
        broker.kill()
