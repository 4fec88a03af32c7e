"""Patterns of topics and offset resets on Kafka: topics appear and disappear, also around kills."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import timedelta

import pytest

import headrace as hr
from headrace import AutoOffsetReset, serdes
from tests.kafka.test_partitions import SOON, TEXT, wait_until, written
from tests.support import state_logs
from tests.support.stopped_application import StoppedApplication

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


@pytest.mark.slow
def test_topics_that_appear_before_a_batch_is_repeated_are_counted_exactly_once(topics, broker, tmp_path):
    values = Counter()

    def fill(topic, partitions, number):
        topics.create(topic, partitions=partitions)
        chosen = random.Random(topic).choices("abcdef", k=number)
        values.update(chosen)
        records = [hr.Record("k", value, 1 + at, partition=at % partitions) for at, value in enumerate(chosen)]
        topics.produce(topic, records, **TEXT)

    def run(step, batch, partitions):
        options = {"broker": broker, "partitions": partitions, "topology": "orders_by_value"}
        return StoppedApplication(tmp_path, step, batch, **options)

    fill("orders-m", 2, 120)
    # New topics come before and after the others in the order of names, and have fewer and more partitions.
    kills = [("output written", "orders-a", 3), ("about to commit", "orders-z", 1), ("planned", "orders-n", 4)]
    for number, (step, topic, partitions) in enumerate(kills):
        stopped = run(step, number, 1 + number % 2)
        stopped.kill(stopped.wait(), "driver")
        assert state_logs.newest_begun(tmp_path / "state") > state_logs.newest_committed(tmp_path / "state")
        fill(topic, partitions, 40 + number)
    final = run(None, 0, 2)
    assert final.end() == ["running", "done"], final.stderr.read_text()
    updates = {}
    for record in topics.read("orders-counted", value_serde=serdes.Long()):
        updates.setdefault(record.key, []).append(record.value)
    assert updates == {value: list(range(1, number + 1)) for value, number in values.items()}
