"""Topics and partitions that functions choose, on Kafka: written exactly once, also after kills."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import headrace as hr
from headrace import serdes
from headrace._runtime.spark.state_directory.dynamic_topics import DynamicTopics
from headrace._runtime.spark.topics.kafka import KafkaBackend
from headrace.testing import TopologyTestDriver
from headrace.topics.kafka.cluster import KafkaCluster
from tests.spark.test_kill import lines
from tests.support.stop_points import STEPS
from tests.support.stopped_application import StoppedApplication
from tests.support.topologies import routed_words

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

TEXT = {"value_serde": serdes.String()}
PARTITIONS = 4


def fill(topics, count):
    topics.create("lines", partitions=PARTITIONS)
    records = [record.with_timestamp(record.timestamp_ms + 1) for record in lines(1, count)]
    topics.produce("lines", records, **TEXT)
    return records


def expected(records):
    """The counts that each chosen topic must have for each word, in order."""
    found = {}
    with TopologyTestDriver(routed_words()) as driver:
        for record in records:
            driver.input_topic("lines").pipe(record.key, record.value, record.timestamp_ms)
        for topic in list(driver._runtime.outputs):
            for record in driver.output_topic(topic).read_all():
                found.setdefault((topic, record.key), []).append(record.value)
    return found


def written(topics):
    """The counts in the chosen topics; every record must be in the partition of its word's length."""
    found = {}
    for topic in topics.list():
        if topic.startswith("words-"):
            assert topics.describe(topic).partitions == PARTITIONS
            for record in topics.read(topic, value_serde=serdes.Long()):
                assert record.partition == len(record.key) % PARTITIONS
                found.setdefault((topic, record.key), []).append(record.value)
    return found


@pytest.mark.slow
def test_chosen_topics_are_created_and_written_once_after_a_kill(topics, broker, tmp_path):
    records = fill(topics, 60)
    killed = StoppedApplication(tmp_path, "output written", 1, broker=broker, partitions=1, topology="routed_words")
    pid = killed.wait()
    assert pid is not None, killed.stderr.read_text()
    assert not DynamicTopics(str(tmp_path / "state")).names() - set(topics.list())
    killed.kill(pid, "driver")
    last = StoppedApplication(tmp_path, None, 0, broker=broker, partitions=1, topology="routed_words")
    assert last.end() == ["running", "done"], last.stderr.read_text()
    assert written(topics) == expected(records)
    chosen = {topic for topic, _ in written(topics)}
    assert chosen == DynamicTopics(str(tmp_path / "state")).names()
    # A start waits for undecided records in these topics.
    plan = SimpleNamespace(partitions={}, sink_topics=(), state_dir=str(tmp_path / "state"))
    backend = KafkaBackend(KafkaCluster(broker.bootstrap_servers))
    assert backend._written_topics(plan) == dict.fromkeys(chosen, PARTITIONS)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
@pytest.mark.parametrize("step", STEPS)
def test_kill_at_a_step_writes_chosen_topics_once(topics, broker, tmp_path, step, victim):
    records = fill(topics, 130)
    kills = 0
    for batch in range(4):
        partitions = 1 + batch % 2
        run = StoppedApplication(tmp_path, step, batch, broker=broker, partitions=partitions, topology="routed_words")
        pid = run.wait()
        if pid is None:
            run.end()
        else:
            kills += 1
            run.kill(pid, victim)
    last = StoppedApplication(tmp_path, None, 0, broker=broker, partitions=2, topology="routed_words")
    assert last.end() == ["running", "done"], last.stderr.read_text()
    assert written(topics) == expected(records)
    assert kills >= 2


@pytest.mark.slow
def test_missing_topics_on_kafka_are_refused_if_configured(topics, config, spark):
    topics.create("in", partitions=2)
    topics.create("to-x", partitions=3)
    topics.produce("in", [hr.Record("a", "x", 10), hr.Record("b", "y", 11)], **TEXT)
    builder = hr.StreamsBuilder()
    builder.stream("in", **TEXT).to(lambda key, value, context: f"to-{value}", name="choosing")
    settings = {"dynamic_topics": "refuse", "production_exception_handler": "continue"}
    app = hr.Streams(builder.build(), config(**settings), spark=spark)
    app.process_available()
    assert topics.read("to-x", **TEXT) == [hr.Record("a", "x", 10)]
    assert "to-y" not in topics.list()
    assert app.metrics()["choosing"]["dropped"] == {"routing error": 1}


def test_check_recognises_what_librdkafkas_default_producer_wrote(topics, broker, tmp_path, monkeypatch):
    from confluent_kafka import Producer
    from typer.testing import CliRunner

    from headrace.cli.program import program

    for topic in ("rows", "in"):
        topics.create(topic, partitions=3)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(60):
        producer.produce("rows", key=f"k{number}", value='"row"')
    producer.flush()
    topics.produce("in", [hr.Record(f"k{number}", "x", 10) for number in range(60)])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(
        "import headrace as hr\n"
        "builder = hr.StreamsBuilder()\n"
        "builder.stream('in').join(builder.table('rows'), lambda value, row: row).to('out')\n"
        "topology = builder.build()\n"
    )
    command = ["topics", "check", "app.py", "--bootstrap-servers", broker.bootstrap_servers]
    result = CliRunner().invoke(program, command)
    assert result.exit_code == 1
    assert "It was written by a CRC32 producer, librdkafka's default: set partitioner=murmur2_random" in result.stdout
    assert "join() joins topics that are partitioned by different rules" in result.stdout
    assert "'in' by murmur2; 'rows' by CRC32" in result.stdout
