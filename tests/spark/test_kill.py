"""`kill -9` at random moments: after restarts the output equals that of a run without kills."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

import headrace as hr
from headrace import serdes
from headrace._graph.nodes import Sink
from headrace.testing import TopologyTestDriver
from tests.support.processes import descendants, kill
from tests.support.runtimes import SparkRuntime
from tests.support.topologies import sales_by_region, word_letters

WORDS = ["ant", "ape", "bee", "cat", "cow", "dog", "deer", "eel", "emu", "fox"]


def lines(seed, count):
    rng = random.Random(seed)
    return [
        hr.Record(
            f"k{rng.randrange(20)}", " ".join(rng.choices(WORDS, k=rng.randrange(5))), 10 * i + rng.randrange(300)
        )
        for i in range(count)
    ]


def fill(directory, records):
    topics = hr.LocalTopics(directory / "topics")
    topics.create("lines", partitions=4)
    topics.produce("lines", records, value_serde=serdes.String())
    return topics


def start(name, directory, max_records):
    command = [sys.executable, "-m", "tests.support.killable", name, str(directory), str(max_records)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def kill_after(process, batches, topics, rng):
    """Waits for some batches and a random moment, then kills driver, JVM and workers, or the driver alone."""
    log = topics._log
    instance = None
    while process.poll() is None:
        log.refresh()
        newest = max(log.catalog._batches.values(), default=-1)
        if instance is None:
            instance = newest
        if newest >= instance + batches:
            break
        time.sleep(0.01)
    time.sleep(rng.random() * 0.8)
    victims = [process.pid] if rng.random() < 0.5 else [process.pid, *descendants(process.pid)]
    kill(*victims)
    process.communicate()


def run_with_kills(name, directory, topics, kills, rng):
    for _ in range(kills):
        kill_after(start(name, directory, 20), rng.choice([0, 1, 1, 2]), topics, rng)
    final = start(name, directory, 20)
    output, _ = final.communicate(timeout=600)
    assert output.split() == ["running", "done"]


def reference(spark, directory, kills):
    runtime = SparkRuntime(spark, directory)
    fill(directory, lines(1, 40 * kills + 10))
    hr.Streams(word_letters(), runtime.config(), spark=spark).process_available()
    return runtime.topics


def contents(topics):
    read = {
        "word-counts": serdes.Long(),
        "long-lines": serdes.String(),
        "letters": serdes.Json(),
    }
    return {
        name: [(r.partition, r.key, r.value, r.timestamp_ms) for r in topics.read(name, value_serde=serde)]
        for name, serde in read.items()
    }


@pytest.mark.spark
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_application_writes_exactly_what_an_undisturbed_one_writes(spark, tmp_path, kills):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    disturbed = fill(tmp_path / "killed", lines(1, 40 * kills + 10))
    run_with_kills("word_letters", tmp_path / "killed", disturbed, kills, random.Random(seed))
    assert contents(disturbed) == contents(reference(spark, tmp_path / "undisturbed", kills))


SALES_TOPICS = ("placed-customers", "known-sales", "sums", "totals")


def commerce(seed, count):
    """Customers that move, regions with new managers, and sales, with unique timestamps so that the order is fixed."""
    rng = random.Random(seed)
    for number in range(count):
        kind, time_ms = rng.choice(["customers", "regions", "sales", "sales", "sales"]), 10 * number
        who, where = f"c{rng.randrange(12)}", f"r{rng.randrange(5)}"
        match kind:
            case "customers":
                yield kind, who, None if rng.random() < 0.1 else {"name": f"n{number}", "region": where}, time_ms
            case "regions":
                yield kind, where, None if rng.random() < 0.2 else f"m{number}", time_ms
            case _:
                yield kind, f"s{number}", {"customer": who, "amount": rng.randrange(100)}, time_ms


def of_each_key(records):
    """The values and timestamps of each key, in order."""
    found = {}
    for record in records:
        found.setdefault(str(record.key), []).append((record.value, record.timestamp_ms))
    return found


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("kills", [20])
def test_killed_chain_of_joins_and_aggregates_writes_what_the_driver_writes(tmp_path, kills):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    inputs = list(commerce(1, 40 * kills + 10))
    topics = hr.LocalTopics(tmp_path / "topics")
    for topic in ("customers", "regions", "sales"):
        topics.create(topic, partitions=3 if topic == "regions" else 2)
        topics.produce(topic, [hr.Record(*rest) for kind, *rest in inputs if kind == topic])
    topology = sales_by_region()
    run_with_kills("sales_by_region", tmp_path, topics, kills, random.Random(seed))
    serde = {sink.topic: (sink.key_serde, sink.value_serde) for sink in topology._graph.nodes if isinstance(sink, Sink)}
    written = {
        topic: topics.read(topic, key_serde=with_key(serde[topic][0]), value_serde=serde[topic][1] or serdes.Json())
        for topic in SALES_TOPICS
    }
    with TopologyTestDriver(topology) as driver:
        for topic, *record in inputs:
            driver.input_topic(topic).pipe(*record)
        expected = {topic: driver.output_topic(topic).read_all() for topic in SALES_TOPICS}
    assert {topic: of_each_key(records) for topic, records in written.items()} == {
        topic: of_each_key(records) for topic, records in expected.items()
    }


def with_key(key_serde):
    return (key_serde or serdes.String()).with_default(serdes.String())


def minute(rng, partition):
    """Timestamps over a minute: steps of up to two and a half seconds, some backwards, some exactly on the grid."""
    time_ms = 10_000 + rng.randrange(1_000)
    while time_ms < 70_000:
        time_ms += rng.choice([40, 250, 700, 700, 2_500, (300 - time_ms) % 1_000])
        yield hr.Record("k", "record", max(0, time_ms - rng.choice([0, 0, 0, 400])), partition=partition)


def with_ticks(records, task):
    """The expected output of one task, from a model without restarts."""
    now = due = None
    for record in records:
        now = record.timestamp_ms if now is None else max(now, record.timestamp_ms)
        yield task, "record", record.timestamp_ms
        due = now + (300 - now) % 1_000 if due is None else due
        if due <= now:
            yield task, "tick", now
        while due <= now:
            due += 1_000


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("kills", [3])
def test_punctuation_with_a_shift_fires_once_and_in_order_at_every_boundary_despite_kills(tmp_path, kills):
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    inputs = [list(minute(rng, partition)) for partition in range(3)]
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=3)
    topics.produce("in", [record for records in inputs for record in records])
    run_with_kills("boundaries", tmp_path, topics, kills, rng)
    written = [(record.key, record.value, record.timestamp_ms) for record in topics.read("out")]
    for partition, records in enumerate(inputs):
        task = f"0_{partition}"
        assert [row for row in written if row[0] == task] == list(with_ticks(records, task))
