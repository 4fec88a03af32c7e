"""Input topics that get more partitions, between two runs and during a run."""

from __future__ import annotations

import re
import time
from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TEXT = {"value_serde": serdes.String()}
SOON = {"topic.metadata.refresh.interval.ms": 200}


def stateless_and_repartitioned():
    """Copies records without state; counts values after a repartition."""
    builder = hr.StreamsBuilder()
    stream = builder.stream("in", **TEXT)
    stream.map_values(str.upper).to("copies", **TEXT)
    counts = stream.group_by(lambda _, value: value, **TEXT, name="by-value").count(store="counts")
    counts.to_stream().map_values(str).to("counts", **TEXT)
    return builder.build()


def by_key():
    """Counts keys without a repartition."""
    builder = hr.StreamsBuilder()
    counts = builder.stream("in", **TEXT).group_by_key(**TEXT).count(store="counts")
    counts.to_stream().map_values(str).to("out", **TEXT)
    return builder.build()


def record(partition, value, timestamp_ms):
    return hr.Record("k", value, timestamp_ms, partition=partition)


def grow(topics, partitions, *records):
    topics._cluster.grow("in", partitions)
    topics.produce("in", records, **TEXT)


def written(topics, topic):
    return [(r.key, r.value, r.timestamp_ms) for r in topics.read(topic, **TEXT)] if topic in topics.list() else []


REFUSED = (
    "Application {application_id!r} cannot continue from its state in {state_dir!r}: topic 'in' has 3 partitions; it "
    "had 1. Keys would move to tasks that do not have their rows in store 'counts'. Start over: use another "
    "application_id and state_dir, or run `headrace reset`. To be able to continue when a topic gets more partitions, "
    "call repartition() before stateful operators: it fixes their number of partitions."
)


@pytest.mark.parametrize("begin", ["earliest", pytest.param("latest", marks=pytest.mark.slow)])
def test_new_partitions_are_read_from_their_beginning_and_repartitioned_keys_stay_in_their_tasks(
    topics, config, spark, begin
):
    topics.create("in", partitions=1)
    settings = config(auto_offset_reset=begin)
    if begin == "latest":
        hr.Streams(stateless_and_repartitioned(), settings, spark=spark).process_available()
    topics.produce("in", [record(0, "a", 1), record(0, "b", 2)], **TEXT)
    hr.Streams(stateless_and_repartitioned(), settings, spark=spark).process_available()
    grow(topics, 3, record(2, "b", 3), record(1, "a", 4), record(0, "a", 5))
    app = hr.Streams(stateless_and_repartitioned(), settings, spark=spark)
    app.process_available()
    assert sorted(written(topics, "copies"), key=lambda copy: copy[2]) == [
        *[("k", "A", 1), ("k", "B", 2)],
        *[("k", "B", 3), ("k", "A", 4), ("k", "A", 5)],
    ]
    assert written(topics, "counts") == [
        *[("a", "1", 1), ("b", "1", 2)],
        *[("b", "2", 3), ("a", "2", 4), ("a", "3", 5)],
    ]
    assert list(app.store("counts").all()) == [("a", 3), ("b", 2)]


def test_new_partitions_are_refused_if_keys_would_move_away_from_their_rows(topics, config, spark):
    topics.create("in", partitions=1)
    topics.produce("in", [record(0, "a", 1)], **TEXT)
    app = hr.Streams(by_key(), config(kafka=SOON), spark=spark)
    app.start()
    wait_until(app, lambda: written(topics, "out") == [("k", "1", 1)])
    grow(topics, 3, record(2, "b", 2))
    message = REFUSED.format(application_id=config().application_id, state_dir=str(config().state_dir))
    with pytest.raises(hr.StateError) as during:
        app.await_termination(timedelta(minutes=4))
    assert str(during.value) == message
    app.stop()
    with pytest.raises(hr.StateError) as between:
        hr.Streams(by_key(), config(), spark=spark).process_available()
    assert str(between.value) == message
    assert written(topics, "out") == [("k", "1", 1)]


def test_topic_that_was_deleted_and_created_again_is_refused(topics, config, spark):
    topics.create("in", partitions=1)
    topics.produce("in", [record(0, "a", 1), record(0, "b", 2)], **TEXT)
    hr.Streams(by_key(), config(), spark=spark).process_available()
    (deleted,) = topics._cluster.admin.delete_topics(["in"], operation_timeout=30).values()
    deleted.result()
    topics.create("in", partitions=1)
    message = (
        f"Topic 'in', partition 0, ends at offset 0, but application {config().application_id!r} continues at offset "
        "2. Was the topic deleted and created again? Start over: use another application_id and state_dir, or run "
        "`headrace reset`."
    )
    with pytest.raises(hr.TopicError, match=re.escape(message)):
        hr.Streams(by_key(), config(), spark=spark).process_available()


def test_running_application_continues_with_new_partitions(topics, config, spark):
    topics.create("in", partitions=1)
    topics.produce("in", [record(0, "a", 1), record(0, "b", 2)], **TEXT)
    app = hr.Streams(stateless_and_repartitioned(), config(kafka=SOON), spark=spark)
    app.start()
    wait_until(app, lambda: len(written(topics, "counts")) == 2)
    grow(topics, 2, record(1, "b", 3))
    wait_until(app, lambda: len(written(topics, "counts")) == 3)
    topics.produce("in", [record(0, "b", 4)], **TEXT)
    wait_until(app, lambda: len(written(topics, "counts")) == 4 and len(written(topics, "copies")) == 4)
    app.stop()
    assert written(topics, "counts") == [("a", "1", 1), ("b", "1", 2), ("b", "2", 3), ("b", "3", 4)]
    assert sorted(written(topics, "copies"), key=lambda copy: copy[2]) == [
        ("k", "A", 1),
        ("k", "B", 2),
        ("k", "B", 3),
        ("k", "B", 4),
    ]


def wait_until(app, condition, within_s=240):
    """Waits until a condition holds, in `await_termination`, where an application handles new partitions."""
    end_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end_s
        assert not app.await_termination(timedelta(milliseconds=200))
