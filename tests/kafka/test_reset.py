"""Reset on Kafka: the notes and consumer-group offsets of the application are deleted, the user's topics stay."""

from __future__ import annotations

import os
from functools import partial

import pytest

import headrace as hr
from headrace import serdes
from headrace.cli.loading import load
from headrace.topics.kafka.cluster import KafkaCluster
from headrace.topics.kafka.commits import Commits
from headrace.topics.kafka.groups import ConsumerGroup
from tests.kafka.test_topics import outgoing, written
from tests.spark.test_reset import SOURCE, check_everything_is_processed_again, own_environment, reset  # noqa: F401

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture
def app(broker, tmp_path):
    """The file of an application on the broker."""
    places = {name: str(tmp_path / name) for name in ("state_dir", "local_dir")}
    settings = {"application_id": "app", "bootstrap_servers": broker.bootstrap_servers, **places}
    (tmp_path / "app.py").write_text(f"{SOURCE}config = hr.StreamsConfig(**{settings!r})\n")
    return tmp_path / "app.py"


def test_reset_application_on_kafka_processes_everything_again(topics, app, broker, spark, tmp_path):
    stdout = check_everything_is_processed_again(spark, topics, app, load(str(app)).configured())
    where = broker.bootstrap_servers
    state, copies, *on_kafka = [line for line in stdout.splitlines() if line.startswith("  - ")]
    assert state == f"  - state directory '{tmp_path}/state_dir': offsets, stores, counters"
    assert copies.startswith(
        f"  - copies of the stores on this machine: '{tmp_path}/local_dir/headrace-{os.getuid()}/replicas/"
    )
    assert on_kafka == [
        f"  - notes of written batches in topic 'app-headrace-commits' at {where}",
        f"  - offsets of consumer group 'app' at {where}",
    ]
    assert reset(app).exit_code == 0
    assert sorted(topics.list()) == ["app-headrace-commits", "kinds", "numbers", "sums"]
    assert reset(app).stdout == f"Nothing to reset: application 'app' has no state in '{tmp_path}/state_dir'.\n"


def test_notes_of_another_state_directory_stay(topics, broker):
    topics.create("out", partitions=1)
    cluster = KafkaCluster(broker.bootstrap_servers)
    gone, kept = (Commits(cluster, "app", instance, start=1) for instance in ("gone", "kept"))
    for commits in (kept, gone):
        commits.take_over(1)
        commits.write(0, 3, partial(outgoing, commits._instance))
    gone.delete_notes()
    with pytest.raises(hr.StateError, match=r"'app' was reset at Kafka .*: this start ends without writing"):
        gone.write(0, 4, partial(outgoing, "zombie"))
    kept = Commits(cluster, "app", "kept", start=2)
    kept.take_over(1)
    assert [kept.write(0, batch, partial(outgoing, f"kept {batch}")).written for batch in (3, 4)] == [False, True]
    assert written(topics, kept) == ["kept", "gone", "kept 4"]


def test_consumer_group_that_something_else_uses_is_not_deleted(topics, app, broker):
    topics.create("numbers", partitions=1)
    topics.produce("numbers", [hr.Record("a", 1, 10)])
    cluster = KafkaCluster(broker.bootstrap_servers)
    other = cluster.consumer(**{"group.id": "app", "client.id": "dashboard", "auto.offset.reset": "earliest"})
    other.subscribe(["numbers"])
    message = other.poll(30)
    assert serdes.Json().deserialize(message.value()) == 1
    refused = reset(app)
    other.close()
    assert refused.exit_code == 1
    assert f"Consumer group 'app' at {broker.bootstrap_servers} has active members (dashboard on " in refused.stderr
    group = ConsumerGroup(cluster, "app")
    group.commit({("numbers", 0): 1})
    assert (group.exists(), reset(app).exit_code, group.exists()) == (True, 0, False)
