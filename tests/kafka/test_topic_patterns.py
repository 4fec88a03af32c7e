"""Patterns of topics and offset resets on Kafka: topics appear and disappear, also around kills."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from datetime import timedelta

import pytest

import headrace as hr
from headrace import AutoOffsetReset, serdes
from tests.kafka.test_kill import kill_when_a_part_is_written
from tests.kafka.test_partitions import SOON, TEXT, wait_until, written

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def by_key():
    builder = hr.StreamsBuilder()
    counts = builder.stream(re.compile("orders-.*"), **TEXT).group_by_key(**TEXT).count(store="counts")
    counts.to_stream().map_values(str).to("orders-counted", **TEXT)
    return builder.build()


def delete(topics, *names):
    for deleted in topics._cluster.admin.delete_topics(list(names), operation_timeout=30).values():
        deleted.result()


def test_topics_appear_and_disappear_between_runs(topics, config, spark):
    topics.create("orders-eu", partitions=1)
    topics.create("orders-us", partitions=2)
    topics.produce("orders-us", [hr.Record("a", "x", 1, partition=1)], **TEXT)
    hr.Streams(by_key(), config(), spark=spark).process_available()
    delete(topics, "orders-us")
    topics.produce("orders-eu", [hr.Record("b", "x", 2)], **TEXT)
    hr.Streams(by_key(), config(), spark=spark).process_available()
    topics.create("orders-us", partitions=3)  # a new topic of the same name, read from its beginning
    topics.produce("orders-us", [hr.Record("a", "x", 3, partition=1), hr.Record("c", "x", 4, partition=2)], **TEXT)
    app = hr.Streams(by_key(), config(), spark=spark)
    app.process_available()
    found = sorted(written(topics, "orders-counted"), key=lambda record: record[2])
    assert found == [("a", "1", 1), ("b", "1", 2), ("a", "2", 3), ("c", "1", 4)]
    assert sorted(app.store("counts").all()) == [("a", 2), ("b", 1), ("c", 1)]


@pytest.mark.slow
def test_running_application_follows_topics_that_appear_and_disappear(topics, config, spark):
    app = hr.Streams(by_key(), config(kafka=SOON), spark=spark)
    app.start()
    topics.create("orders-eu", partitions=1)
    topics.produce("orders-eu", [hr.Record("a", "x", 1)], **TEXT)
    wait_until(app, lambda: len(written(topics, "orders-counted")) == 1)
    topics.create("orders-us", partitions=2)
    topics.produce("orders-us", [hr.Record("b", "x", 2, partition=1)], **TEXT)
    wait_until(app, lambda: len(written(topics, "orders-counted")) == 2)
    delete(topics, "orders-us")
    topics.produce("orders-eu", [hr.Record("a", "x", 3)], **TEXT)
    wait_until(app, lambda: len(written(topics, "orders-counted")) == 3)
    app.stop()
    found = sorted(written(topics, "orders-counted"), key=lambda record: record[2])
    assert found == [("a", "1", 1), ("b", "1", 2), ("a", "2", 3)]


@pytest.mark.slow
def test_every_source_begins_where_its_reset_says(topics, config, spark):
    builder = hr.StreamsBuilder()
    resets = {
        "earliest": "earliest",
        "latest": AutoOffsetReset.latest(),
        "by-duration": AutoOffsetReset.by_duration(timedelta(hours=1)),
        "configured": None,
    }
    for topic, reset in resets.items():
        builder.stream(topic, **TEXT, offset_reset=reset).map(lambda key, value: (key, value)).to("out", **TEXT)
        topics.create(topic, partitions=1)
        old = hr.Record("k", f"{topic} old", 1000)
        topics.produce(topic, [old], **TEXT)
        topics.produce(topic, [hr.Record("k", f"{topic} new")], **TEXT)
    settings = config(auto_offset_reset="latest")
    hr.Streams(builder.build(), settings, spark=spark).process_available()
    values = {record.value for record in topics.read("out", **TEXT)}
    assert values == {"earliest old", "earliest new", "by-duration new"}
    refused = hr.StreamsBuilder()
    refused.stream("earliest", offset_reset="none").to("out")
    other = config(application_id="other", state_dir=settings.state_dir.with_name("other"))
    with pytest.raises(
        hr.TopicError, match="has no position in topic 'earliest', partition 0, and its offset reset is"
    ):
        hr.Streams(refused.build(), other, spark=spark).process_available()


def start(directory, broker, max_records):
    command = [sys.executable, "-m", "tests.support.killable", "orders_by_value", str(directory), str(max_records)]
    return subprocess.Popen(
        [*command, broker.bootstrap_servers],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


@pytest.mark.slow
def test_topics_that_appear_between_kills_are_counted_exactly_once(topics, broker, tmp_path):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    values = Counter()

    def fill(topic, partitions, number):
        topics.create(topic, partitions=partitions)
        chosen = [rng.choice("abcdef") for _ in range(number)]
        values.update(chosen)
        records = [
            hr.Record("k", value, 1 + time_ms, partition=time_ms % partitions) for time_ms, value in enumerate(chosen)
        ]
        topics.produce(topic, records, **TEXT)

    fill("orders-m", 2, 150)
    halves = 0
    for number, (topic, partitions) in enumerate([("orders-a", 3), ("orders-z", 1), ("orders-n", 4)]):
        halves += kill_when_a_part_is_written(start(tmp_path, broker, 10), topics, tmp_path, rng)
        fill(topic, partitions, 40 + number)
    final = start(tmp_path, broker, 1000)
    output, _ = final.communicate(timeout=600)
    assert output.split() == ["running", "done"]
    print(f"{halves} of 3 kills left a batch for the next start")
    updates = {}
    for record in topics.read("orders-counted", value_serde=serdes.Long()):
        updates.setdefault(record.key, []).append(record.value)
    assert updates == {value: list(range(1, number + 1)) for value, number in values.items()}
