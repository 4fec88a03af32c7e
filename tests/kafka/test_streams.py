"""Applications from Kafka to Kafka on Spark; Java's own consumer or ours reads their output."""

from __future__ import annotations

import random
import subprocess

import pytest

import headrace as hr
from headrace import serdes
from tests.spark.test_cli import COMMAND
from tests.support import state_logs
from tests.support.broker import java
from tests.support.runtimes import SparkRuntime
from tests.support.topologies import word_letters

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TEXT = {"value_serde": serdes.String()}
WORD_TOPICS = {"word-counts": serdes.Long(), "long-lines": serdes.String(), "letters": serdes.Json()}


def orders():
    builder = hr.StreamsBuilder()
    stream = builder.stream(["orders", "returns"], **TEXT)
    stream.map_values(lambda value: None if value == "cancel" else value.upper()).to("copies", **TEXT)
    stream.group_by_key(**TEXT).count(store="counts").to_stream().map_values(str).to("counts", **TEXT)
    return builder.build()


def seen_by_java(broker, topic):
    """Partition, timestamp, headers, key and value of each record, as the console consumer prints them."""
    shown = [f"print.{part}=true" for part in ("partition", "timestamp", "headers", "key")]
    properties = [argument for part in shown for argument in ("--formatter-property", part)]
    options = ["--bootstrap-server", broker.bootstrap_servers, "--topic", topic, "--from-beginning"]
    limits = ["--isolation-level", "read_committed", "--timeout-ms", "4000"]
    printed = java("org.apache.kafka.tools.consumer.ConsoleConsumer", *options, *limits, *properties)
    lines = [line.split("\t") for line in printed.splitlines() if line.startswith("CreateTime:")]
    return sorted(((p, t, h, k, v) for t, p, h, k, v in lines), key=lambda line: line[0])  # stable: by offset


def test_java_consumer_reads_the_expected_keys_values_headers_timestamps_and_tombstones(topics, config, spark, broker):
    for topic in ("orders", "returns"):
        topics.create(topic, partitions=2)
    trace = (("trace", b"7"), ("none", None))
    topics.produce("orders", [hr.Record("d", "pen", 1_000, trace), hr.Record("a", "ink", 3_000)], **TEXT)
    topics.produce("returns", [hr.Record("a", "cancel", 2_000, trace), hr.Record("d", "nib", 500)], **TEXT)
    app = hr.Streams(orders(), config(), spark=spark)
    app.process_available()
    headers = "trace:7,none:null"
    assert seen_by_java(broker, "copies") == [
        ("Partition:0", "CreateTime:2000", headers, "a", "null"),
        ("Partition:0", "CreateTime:3000", "NO_HEADERS", "a", "INK"),
        ("Partition:1", "CreateTime:500", "NO_HEADERS", "d", "NIB"),
        ("Partition:1", "CreateTime:1000", headers, "d", "PEN"),
    ]
    assert seen_by_java(broker, "counts") == [
        ("Partition:0", "CreateTime:2000", headers, "a", "1"),
        ("Partition:0", "CreateTime:3000", "NO_HEADERS", "a", "2"),
        ("Partition:1", "CreateTime:500", "NO_HEADERS", "d", "1"),
        ("Partition:1", "CreateTime:1000", headers, "d", "2"),
    ]
    assert list(app.store("counts").all()) == [("a", 2), ("d", 2)]


def of_each_key(topics):
    """The values and timestamps of each key, in order."""
    found = {}
    for topic, serde in WORD_TOPICS.items():
        for record in topics.read(topic, value_serde=serde):
            found.setdefault((topic, record.key), []).append((record.value, record.timestamp_ms))
    return found


def lines(seed, count, first_ms=1):
    rng = random.Random(seed)
    words = ["ant", "ape", "bee", "cat", "cow", "dog", "deer", "eel"]
    return [
        hr.Record(f"k{rng.randrange(9)}", " ".join(rng.choices(words, k=rng.randrange(5))), first_ms + 10 * i + late)
        for i in range(count)
        for late in [rng.randrange(200)]
    ]


def test_bounded_batches_and_restarts_write_what_one_batch_writes_to_embedded_topics(topics, config, spark, tmp_path):
    embedded = SparkRuntime(spark, tmp_path / "embedded")
    for target in (topics, embedded.topics):
        target.create("lines", partitions=3)
        target.produce("lines", lines(1, 50), **TEXT)
    hr.Streams(word_letters(), embedded.config(), spark=spark).process_available()
    app = hr.Streams(word_letters(), config(max_records_per_batch=20), spark=spark)
    app.process_available()
    assert of_each_key(topics) == of_each_key(embedded.topics)
    assert state_logs.newest_committed(config().state_dir) >= 2

    for target in (topics, embedded.topics):
        target.produce("lines", lines(2, 9, first_ms=5_000), **TEXT)
    hr.Streams(word_letters(), embedded.config(), spark=spark).process_available()
    app = hr.Streams(word_letters(), config(), spark=spark)
    app.process_available()
    app.process_available()
    assert of_each_key(topics) == of_each_key(embedded.topics)
    assert committed(topics, config().application_id, "lines") == list(topics.describe("lines").end_offsets)


def committed(topics, group, topic):
    """The committed offsets of a consumer group, as lag tools see them."""
    from confluent_kafka import TopicPartition

    consumer = topics._cluster.consumer(**{"group.id": group})
    places = [TopicPartition(topic, partition) for partition in range(topics.describe(topic).partitions)]
    offsets = [place.offset for place in consumer.committed(places, timeout=10)]
    consumer.close()
    return offsets


def transaction(topics, *values, commit):
    """Writes records to partition 0 of `in`, commits or aborts the transaction, and waits until it is complete."""
    producer, successor = (topics._cluster.producer(**{"transactional.id": "input"}) for _ in range(2))
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce("in", value, None, 0, timestamp=1)
    producer.flush()
    (producer.commit_transaction if commit else producer.abort_transaction)(30)
    successor.init_transactions(30)


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", pytest.param("at_least_once", marks=pytest.mark.slow)])
def test_latest_begins_at_the_end_and_aborted_records_are_skipped(topics, config, spark, guarantee):
    builder = hr.StreamsBuilder()
    builder.stream("in", **TEXT).to("out", **TEXT)
    topics.create("in", partitions=2)
    topics.produce("in", [hr.Record(None, "before", 1, partition=0)], **TEXT)
    settings = config(auto_offset_reset="latest", processing_guarantee=guarantee)
    app = hr.Streams(builder.build(), settings, spark=spark)
    app.process_available()
    transaction(topics, b"a", b"b", commit=True)
    transaction(topics, b"c", commit=False)
    topics.produce("in", [hr.Record(None, "d", 2, partition=0), hr.Record("k", "e", 3, partition=1)], **TEXT)
    app.process_available()
    hr.Streams(builder.build(), settings, spark=spark).process_available()
    assert [(r.key, r.value, r.timestamp_ms) for r in topics.read("out", **TEXT) if r.key is None] == [
        (None, "a", 1),
        (None, "b", 1),
        (None, "d", 2),
    ]
    assert [record.value for record in topics.read("out", **TEXT) if record.key == "k"] == ["e"]


def test_missing_topic_and_missing_broker_are_reported_at_start(topics, config, spark):
    with pytest.raises(hr.TopicError, match=r"reads topic 'orders', which does not exist. .*Known topics: none"):
        hr.Streams(orders(), config(), spark=spark).process_available()
    nowhere = hr.StreamsConfig(application_id="a", bootstrap_servers="127.0.0.1:1", state_dir="never-created")
    with pytest.raises(hr.TopicError, match=r"No Kafka broker at '127.0.0.1:1' answered within 10 s"):
        hr.Streams(orders(), nowhere, spark=spark).process_available()


APP = """\
import headrace as hr

builder = hr.StreamsBuilder()
builder.stream("numbers").map_values(lambda value: value + 1).to("successors")
topology = builder.build()
"""


@pytest.mark.slow
def test_command_line_runs_an_application_on_kafka(topics, broker, tmp_path):
    (tmp_path / "app.py").write_text(APP)

    def headrace(*command, stdin=""):
        on_kafka = [*COMMAND, *command, "--bootstrap-servers", broker.bootstrap_servers]
        done = subprocess.run(on_kafka, input=stdin, capture_output=True, text=True, cwd=tmp_path, check=False)
        return done.stdout, done.stderr, done.returncode

    assert headrace("topics", "create", "numbers", "--partitions", "1")[2] == 0
    headrace("topics", "produce", "numbers", "--json", stdin='{"key": "a", "value": 1, "timestamp_ms": 1000}\n')
    printed, _, code = headrace("run", "app.py", "--until-caught-up")
    assert (printed.rsplit(" in ", 1)[0], code) == ("app caught up: 1 record in, 1 out, 1 batch", 0)
    assert headrace("topics", "consume", "successors") == (
        "   0        0  1970-01-01 00:00:01.000  a                 2\n",
        "",
        0,
    )
