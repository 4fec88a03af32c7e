"""Topics on Kafka from Python, and the transactions behind exactly-once; no Spark."""

from __future__ import annotations

import random
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

import headrace as hr
from headrace import serdes
from headrace._core.partitioning import partition_for
from headrace.topics.kafka.client import client
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.commits import Commits
from headrace.topics.kafka.rules import OutgoingRecord
from headrace.topics.kafka.send import OutgoingBatch, write_at_least_once
from tests.kafka.test_streams import transaction
from tests.support.broker import classpath

pytestmark = pytest.mark.kafka

BYTES = {"key_serde": serdes.Bytes(), "value_serde": serdes.Bytes()}


@pytest.fixture
def cluster(broker):
    return KafkaCluster(broker.bootstrap_servers)


def test_produced_records_are_read_back_with_nulls_empty_values_and_headers(topics):
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


def test_read_of_a_range_of_offsets_returns_its_committed_records(topics, cluster):
    topics.create("in", partitions=1)
    transaction(topics, *(b"first %d" % n for n in range(1_100)), commit=True)
    transaction(topics, *(b"never %d" % n for n in range(700)), commit=False)
    transaction(topics, *(b"second %d" % n for n in range(600)), commit=True)
    # Each transaction ends with a marker, which takes an offset.
    committed = [(n, b"first %d" % n) for n in range(1_100)] + [(1_802 + n, b"second %d" % n) for n in range(600)]
    [end] = cluster.end_offsets([("in", 0)])
    for first, last in ((0, end), (0, 1), (499, 1_101), (1_099, 1_803), (1_100, 1_802), (1_500, 2_000), (2_401, end)):
        rows = [row for batch in cluster.read("in", 0, first, last) for row in batch.to_pylist()]
        assert [(row["offset"], row["value"]) for row in rows] == [
            (offset, value) for offset, value in committed if first <= offset < last
        ]


def test_partitions_equal_those_of_javas_producer(topics, broker):
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
    with pytest.raises(hr.TopicError, match="has timestamp 0, which Kafka's C client replaces"):
        topics.produce("t", [hr.Record("k", 1, 0)])


def test_negative_timestamp_in_a_topic_is_reported_with_its_offset(topics, cluster):
    topics.create("t", partitions=1)
    producer = cluster.producer()
    for timestamp_ms in (3, -7):
        producer.produce("t", b"1", b"k", 0, timestamp=timestamp_ms)
    assert not producer.flush(30)
    with pytest.raises(hr.TopicError, match=r"Topic 't', partition 0, offset 1, timestamp: -7 is negative"):
        topics.read("t")


@pytest.mark.parametrize("headers", [(), (("h" * 200, b"v" * 300), ("none", None))])
@pytest.mark.parametrize("key", [None, b"", b"k" * 100])
def test_size_limit_of_a_topic_is_computed_to_the_byte(topics, cluster, key, headers):
    cluster.create({"t": 1}, {"max.message.bytes": "100000"})
    empty = OutgoingRecord("t", 0, key, b"x" * 90_000, 1, headers)
    largest = empty._replace(value=b"x" * (90_000 + 100_000 - empty.size))
    write_at_least_once(cluster, [OutgoingBatch.of(largest)])
    [record] = topics.read("t", **BYTES)
    assert (record.key, len(record.value), record.headers) == (key, len(largest.value), headers)
    over = hr.Record(key, largest.value + b"x", 1, headers)
    with pytest.raises(
        hr.TopicError, match=r"has 100,001 bytes, and the topic accepts up to 100,000\. Raise the topic's"
    ):
        topics.produce("t", [over], **BYTES)
    with pytest.raises(hr.TopicError, match=r"refused records for topic 't', partition 0: .*MSG_SIZE_TOO_LARGE"):
        write_at_least_once(cluster, [OutgoingBatch.of(largest._replace(value=over.value))])


def test_many_records_fit_into_a_topic_with_a_small_size_limit(topics, cluster):
    cluster.create({"t": 1}, {"max.message.bytes": "2000"})
    records = [hr.Record("k", "x" * 1_000, 1 + number) for number in range(100)]
    topics.produce("t", records)
    assert topics.read("t") == records


def test_unknown_and_existing_topics_are_named_in_errors(topics):
    topics.create("clicks", partitions=2)
    with pytest.raises(hr.TopicError, match=r"no topic 'click' at .*Did you mean 'clicks'\? Known topics: 'clicks'"):
        topics.read("click")
    with pytest.raises(hr.TopicError, match="already exists"):
        topics.create("clicks", partitions=2)
    topics.create("clicks", partitions=2, exist_ok=True)
    with pytest.raises(hr.TopicError, match="already exists, with 2 partitions instead of 3"):
        topics.create("clicks", partitions=3, exist_ok=True)


def test_broker_that_does_not_answer_is_named_within_seconds():
    began_s = time.monotonic()
    with pytest.raises(hr.TopicError, match=r"No Kafka broker at '127.0.0.1:1' answered within 10 s"):
        hr.KafkaTopics("127.0.0.1:1").list()
    assert time.monotonic() - began_s < 15


def test_setting_that_the_client_does_not_know_is_named(broker):
    with pytest.raises(hr.ConfigError, match=r'No such configuration property: "sasl\.name"'):
        hr.KafkaTopics(broker.bootstrap_servers, kafka={"sasl.name": "x"}).list()


def test_security_settings_are_passed_to_the_client(topics, broker):
    alice = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice"}
    secure = hr.KafkaTopics(broker.secure_servers, kafka={**alice, "sasl.password": "wonderland"})
    secure.create("t", partitions=1)
    secure.produce("t", [hr.Record("k", 1, 1)])
    assert (secure.read("t"), topics.list()) == ([hr.Record("k", 1, 1)], ["t"])
    with pytest.raises(hr.TopicError, match="Authentication failed: Invalid username or password"):
        hr.KafkaTopics(broker.secure_servers, kafka={**alice, "sasl.password": "chess"}).list()


def outgoing(*values, timestamp_ms=1):
    rows = [{"key": b"k", "value": value.encode(), "timestamp": timestamp_ms} for value in values]
    return [OutgoingBatch("out", 0, pa.RecordBatch.from_pylist(rows))]


def written(topics, commits):
    commits.await_visible()
    return [record.value for record in topics.read("out", value_serde=serdes.String())]


def await_sent(cluster, topic):
    """Waits until a partition has an uncommitted record, which means that its transaction is open."""
    while not has_open_transaction(cluster, topic):
        time.sleep(0.02)


def has_open_transaction(cluster, topic):
    place = {client().TopicPartition(topic, 0): client("admin").OffsetSpec.latest()}
    [found] = cluster.admin.list_offsets(place).values()
    return found.result().offset > cluster.end_offsets([(topic, 0)])[0]


def test_batch_of_a_task_is_written_once_despite_restarts(topics, cluster):
    topics.create("out", partitions=1)
    first = Commits(cluster, "app", "instance", start=1)
    assert first.last_batch() is None
    first.take_over(2)
    assert first.last_batch() is None
    assert [first.write(0, 0, lambda: outgoing("a")).written for _ in range(2)] == [True, False]
    second = Commits(cluster, "app", "instance", start=2)
    second.take_over(2)
    assert [second.write(task, 0, lambda: outgoing("again")).written for task in (0, 1)] == [False, True]
    assert written(topics, second) == ["a", "again"]
    assert second.last_batch() == 0


def test_clients_that_create_a_topic_at_once_all_see_enough_partitions(topics, broker):
    wanted = (1, 2, 3, 3)
    for number in range(10):
        clusters = [KafkaCluster(broker.bootstrap_servers) for _ in wanted]
        with ThreadPoolExecutor(len(wanted)) as threads:
            found = threads.map(
                lambda cluster, partitions, number=number: cluster.ensure(f"t{number}", partitions, {}),
                clusters,
                wanted,
            )
        assert all(partitions >= least for partitions, least in zip(found, wanted, strict=True))
        assert topics.describe(f"t{number}").partitions == 3


def test_earlier_start_can_neither_write_nor_commit_its_open_transaction(topics, cluster):
    topics.create("out", partitions=1)
    first = Commits(cluster, "app", "instance", start=1)
    first.take_over(1)
    second = Commits(cluster, "app", "instance", start=2)

    def taken_over_meanwhile():
        yield from outgoing("half")
        await_sent(cluster, "out")
        second.take_over(1)
        yield from outgoing("zombie")

    with pytest.raises(hr.StateError, match=r"started again at Kafka .* \(start 2; this is start 1\)"):
        first.write(0, 0, taken_over_meanwhile)
    assert written(topics, second) == []
    assert second.write(0, 0, lambda: outgoing("b")).written
    with pytest.raises(hr.StateError, match="the newer start continues"):
        first.write(0, 1, lambda: outgoing("zombie"))
    with pytest.raises(hr.StateError, match="the newer start continues"):
        first.take_over(1)
    assert written(topics, second) == ["b"]


def test_instances_of_one_application_id_have_separate_batches(topics, cluster):
    topics.create("out", partitions=1)
    for instance, start, batch, wrote in (("x", 1, 3, True), ("y", 1, 0, True), ("x", 2, 3, False), ("x", 3, 4, True)):
        commits = Commits(cluster, "app", instance, start)
        commits.take_over(1)
        output = outgoing(f"{instance}{batch}")
        assert commits.write(0, batch, output.copy).written is wrote
    assert written(topics, commits) == ["x3", "y0", "x4"]


def test_task_may_write_as_many_records_as_the_client_buffers(topics, broker):
    holds = {"queue.buffering.max.messages": 50}
    topics.create("out", partitions=1)
    commits = Commits(KafkaCluster(broker.bootstrap_servers, holds), "app", "instance", start=1)
    commits.take_over(1)
    values = [str(number) for number in range(50)]
    assert commits.write(0, 0, lambda: outgoing(*values)).written
    assert written(topics, commits) == values


def test_failing_write_leaves_nothing_open(topics, cluster):
    topics.create("out", partitions=1)
    commits = Commits(cluster, "app", "instance", start=1)
    commits.take_over(1)
    with pytest.raises(hr.TopicError, match=r"refused records for topic 'out', partition 0: .*INVALID_TIMESTAMP"):
        commits.write(0, 0, lambda: [*outgoing("a"), *outgoing("b", timestamp_ms=1 << 50)])
    assert written(topics, commits) == []
    assert commits.write(0, 0, lambda: outgoing("c")).written
    assert written(topics, commits) == ["c"]
