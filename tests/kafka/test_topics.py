"""Topics on Kafka from Python, and the transactions behind exactly-once; no Spark."""

from __future__ import annotations

import random
import subprocess
import time

import pyarrow as pa
import pytest

import headrace as hr
from headrace import serdes
from headrace._core.partitioning import partition_for
from headrace.topics.kafka_cluster import KafkaCluster
from headrace.topics.kafka_commits import Commits
from headrace.topics.kafka_send import Outgoing
from tests.kafka.test_streams import transaction
from tests.support.broker import classpath

pytestmark = pytest.mark.kafka

BYTES = {"key_serde": serdes.Bytes(), "value_serde": serdes.Bytes()}


@pytest.fixture
def cluster(broker):
    return KafkaCluster(broker.bootstrap_servers)


def test_what_was_produced_is_read_again_nulls_empties_headers_and_all(topics):
    topics.create("t", partitions=2)
    records = [
        hr.Record(b"a", b"x", 5, (("h", b"1"), ("h", None), ("e", b"")), partition=1),
        hr.Record(b"a", None, 4, partition=1),
        hr.Record(None, b"", 6, partition=1),
        hr.Record(b"", None, 7, partition=1),
    ]
    assert topics.produce("t", records, **BYTES) == 4
    assert topics.read("t", **BYTES) == records
    assert (topics.list(), topics.describe("t").end_offsets, topics.describe("t").records) == (["t"], (0, 4), 4)


def test_range_of_offsets_has_the_committed_records_in_it_however_many(topics, cluster):
    topics.create("in", partitions=1)
    transaction(topics, *(b"first %d" % n for n in range(1_100)), commit=True)
    transaction(topics, *(b"never %d" % n for n in range(700)), commit=False)
    transaction(topics, *(b"second %d" % n for n in range(600)), commit=True)
    # Each transaction ends with a marker, which takes an offset.
    committed = [(n, b"first %d" % n) for n in range(1_100)] + [(1_802 + n, b"second %d" % n) for n in range(600)]
    [end] = cluster.ends([("in", 0)])
    for first, last in ((0, end), (0, 1), (499, 1_101), (1_099, 1_803), (1_100, 1_802), (1_500, 2_000), (2_401, end)):
        rows = [row for batch in cluster.read("in", 0, first, last) for row in batch.to_pylist()]
        assert [(row["offset"], row["value"]) for row in rows] == [
            (offset, value) for offset, value in committed if first <= offset < last
        ]


def test_partitions_are_those_that_javas_producer_chooses(topics, broker):
    rng = random.Random(7)
    keys = [
        "".join(chr(rng.choice([rng.randrange(33, 127), rng.randrange(0x100, 0x2FF)])) for _ in range(length % 40 + 1))
        for length in range(300)
    ]
    topics.create("t", partitions=7)
    command = ["java", "-cp", classpath(), "org.apache.kafka.tools.ConsoleProducer"]
    options = ["--bootstrap-server", broker.bootstrap_servers, "--topic", "t", "--reader-property", "parse.key=true"]
    lines = "".join(f"{key}\tv\n" for key in keys)
    subprocess.run([*command, *options], input=lines.encode(), capture_output=True, check=True, timeout=120)
    read = topics.read("t", value_serde=serdes.String())
    assert sorted(record.key for record in read) == sorted(keys)
    assert [record.partition for record in read] == [partition_for(record.key.encode(), 7) for record in read]


def test_timestamp_that_the_client_would_replace_is_refused(topics):
    topics.create("t")
    with pytest.raises(hr.TopicError, match="has timestamp 0, in place of which Kafka's C client would write"):
        topics.produce("t", [hr.Record("k", 1, 0)])


def test_unknown_and_existing_topics_are_told(topics):
    topics.create("clicks", partitions=2)
    with pytest.raises(hr.TopicError, match=r"no topic 'click' at .*Did you mean 'clicks'\? Known topics: 'clicks'"):
        topics.read("click")
    with pytest.raises(hr.TopicError, match="already exists"):
        topics.create("clicks", partitions=2)
    topics.create("clicks", partitions=2, exist_ok=True)
    with pytest.raises(hr.TopicError, match="exists already, with 2 partitions instead of 3"):
        topics.create("clicks", partitions=3, exist_ok=True)


def test_broker_that_does_not_answer_is_named_within_seconds():
    began_s = time.monotonic()
    with pytest.raises(hr.TopicError, match=r"No Kafka broker at '127.0.0.1:1' answered within 10 s"):
        hr.KafkaTopics("127.0.0.1:1").list()
    assert time.monotonic() - began_s < 15


def test_setting_that_the_client_does_not_know_is_told(broker):
    with pytest.raises(hr.ConfigError, match=r'No such configuration property: "sasl\.name"'):
        hr.KafkaTopics(broker.bootstrap_servers, kafka={"sasl.name": "x"}).list()


def test_security_settings_are_the_clients(topics, broker):
    alice = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice"}
    secure = hr.KafkaTopics(broker.secure_servers, kafka={**alice, "sasl.password": "wonderland"})
    secure.create("t", partitions=1)
    secure.produce("t", [hr.Record("k", 1, 1)])
    assert (secure.read("t"), topics.list()) == ([hr.Record("k", 1, 1)], ["t"])
    with pytest.raises(hr.TopicError, match="Authentication failed: Invalid username or password"):
        hr.KafkaTopics(broker.secure_servers, kafka={**alice, "sasl.password": "chess"}).list()


def outgoing(*values, timestamp_ms=1):
    rows = [{"key": b"k", "value": value.encode(), "timestamp": timestamp_ms} for value in values]
    return [Outgoing("out", 0, pa.RecordBatch.from_pylist(rows))]


def written(topics, commits):
    commits.settle(2)
    return [record.value for record in topics.read("out", value_serde=serdes.String())]


def test_batch_of_a_task_is_written_once_over_restarts(topics, cluster):
    topics.create("out", partitions=1)
    first = Commits(cluster, "app", "instance", start=1)
    assert first.last_batch() is None
    first.take_over(2)
    assert (first.last_batch(), first.write(0, 0, outgoing("a")), first.write(0, 0, outgoing("a"))) == (
        None,
        True,
        False,
    )
    second = Commits(cluster, "app", "instance", start=2)
    second.take_over(2)
    assert [second.write(task, 0, outgoing(f"again {task}")) for task in (0, 1)] == [False, True]
    assert written(topics, second) == ["a", "again 1"]
    assert second.last_batch() == 0


def test_earlier_start_can_neither_write_nor_finish_what_it_began(topics, cluster):
    topics.create("out", partitions=1)
    first = Commits(cluster, "app", "instance", start=1)
    first.take_over(1)
    open_transaction = first._begun(0)
    open_transaction.begin_transaction()
    open_transaction.produce("out", b"half", partition=0)
    open_transaction.flush()
    second = Commits(cluster, "app", "instance", start=2)
    second.take_over(1)
    with pytest.raises(hr.StateError, match=r"started again at Kafka .* \(start 2; this is start 1\)"):
        first.write(0, 0, outgoing("zombie"))
    assert second.write(0, 0, outgoing("b"))
    assert written(topics, second) == ["b"]


def test_state_directories_of_one_name_have_batches_of_their_own(topics, cluster):
    topics.create("out", partitions=1)
    for instance, start, batch, wrote in (("x", 1, 3, True), ("y", 1, 0, True), ("x", 2, 3, False), ("x", 3, 4, True)):
        commits = Commits(cluster, "app", instance, start)
        commits.take_over(1)
        assert commits.write(0, batch, outgoing(f"{instance}{batch}")) is wrote
    assert written(topics, commits) == ["x3", "y0", "x4"]


def test_failing_write_leaves_nothing_open(topics, cluster):
    topics.create("out", partitions=1)
    commits = Commits(cluster, "app", "instance", start=1)
    commits.take_over(1)
    with pytest.raises(hr.TopicError, match="timestamp 0"):
        commits.write(0, 0, [*outgoing("a"), *outgoing("b", timestamp_ms=0)])
    assert written(topics, commits) == []
    assert commits.write(0, 0, outgoing("c"))
    assert written(topics, commits) == ["c"]
