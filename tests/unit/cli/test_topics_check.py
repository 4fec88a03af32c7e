"""`headrace topics check` and the warning at a start: topics that are partitioned by different rules are found."""

from __future__ import annotations

import logging
import zlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import headrace as hr
from headrace import serdes
from headrace._core.partitioning import partition_for
from headrace._runtime.spark.topics.partition_check import mismatches, sample_keys, warn_of_mismatches
from headrace.cli.program import program

APP = """\
import headrace as hr

builder = hr.StreamsBuilder()
rows = builder.table("rows")
builder.stream("in").join(rows, lambda value, row: row).to("out")
builder.stream("alone").to("copy")
topology = builder.build()
"""
PARTITIONS = 3


def by_crc32(key):
    return zlib.crc32(key.encode()) % PARTITIONS


def fill(rules):
    """Writes keys to topics, each by a rule: a function of the key, or `None` for Kafka's."""
    topics = hr.LocalTopics("topics")
    for topic, rule in rules.items():
        topics.create(topic, partitions=PARTITIONS)
        keys = [f"k{number}" for number in range(30)]
        topics.produce(topic, [hr.Record(key, 1, 10, partition=rule and rule(key)) for key in keys])


@pytest.fixture(autouse=True)
def in_new_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(APP)


def check(*options):
    result = CliRunner().invoke(program, ["topics", "check", "app.py", *options])
    return result.stdout, result.exit_code


def test_topics_that_follow_kafkas_rule_pass():
    fill({"rows": None, "in": None, "alone": by_crc32})
    said, code = check()
    assert code == 0
    assert "No join misses rows" in said
    assert "Topic 'alone' is not partitioned by murmur2" in said
    assert line_of(said, "rows") == ["rows", "3", "30", "0", "yes", "murmur2"]
    assert line_of(said, "alone")[4:] == ["no", "CRC32"]


def line_of(said, topic):
    return next(line.split() for line in said.splitlines() if line.split()[:1] == [topic])


def test_a_join_of_topics_with_different_rules_is_reported():
    fill({"rows": by_crc32, "in": None, "alone": None})
    said, code = check("--keys", "5")
    assert code == 1
    assert "join() joins topics that are partitioned by different rules" in said
    assert "'in' by murmur2; 'rows' by CRC32" in said
    assert "It was written by a CRC32 producer, librdkafka's default: set partitioner=murmur2_random" in said
    assert line_of(said, "rows")[2] == "15"


def test_topics_that_follow_the_same_other_rule_can_be_joined():
    fill({"rows": by_crc32, "in": by_crc32, "alone": None})
    assert check()[1] == 0


def test_producers_with_a_rule_of_their_own_are_not_taken_for_crc32():
    fill({"rows": lambda key: 0, "in": None, "alone": None})
    said, code = check()
    assert code == 1
    assert "Some of its producers use a partitioner of their own, or partitions were added to it" in said


def test_topics_without_keys_or_with_one_partition_have_nothing_to_check():
    topics = hr.LocalTopics("topics")
    for topic in ("rows", "in", "alone"):
        topics.create(topic, partitions=1)
    assert check() == ("Nothing to check: every input topic has one partition, or does not exist.\n", 0)


def crc32_rows(repartition):
    builder = hr.StreamsBuilder()
    stream = repartition(builder.stream("in").select_key(lambda key, value: str(value)))
    stream.join(builder.table("rows"), lambda value, row: row).to("out")
    return builder.build()._graph


def test_the_start_warns_if_a_repartitioned_stream_misses_the_rows_of_a_crc32_producer(caplog):
    fill({"rows": by_crc32, "in": by_crc32})
    config = hr.StreamsConfig(application_id="app", topics_dir="topics")
    with caplog.at_level(logging.WARNING):
        warn_of_mismatches(crc32_rows(lambda stream: stream), config)
    [message] = caplog.messages
    assert "join() joins topics that are partitioned by different rules" in message
    assert "Topic 'rows' is not partitioned by murmur2" in message
    assert "set partitioner=murmur2_random in that producer, or call repartition()" in message


def test_a_repartition_with_a_partitioner_is_trusted():
    fill({"rows": by_crc32, "in": by_crc32})
    config = hr.StreamsConfig(application_id="app", topics_dir="topics")
    graph = crc32_rows(lambda stream: stream.repartition("again", partitioner=lambda t, key, v, n: by_crc32(key)))
    assert mismatches(graph, sample_keys(graph, config, ["rows"], keys=10)) == []


def test_the_start_does_not_fail_if_topics_cannot_be_sampled(caplog):
    config = hr.StreamsConfig(application_id="app", topics_dir="app.py")
    with caplog.at_level(logging.DEBUG):
        warn_of_mismatches(crc32_rows(lambda stream: stream), config)
    assert any("Could not sample the keys of 'rows'" in message for message in caplog.messages)


def test_windowed_keys_are_in_the_partition_of_their_inner_key():
    keys = serdes.WindowedKey(serdes.String(), 10)
    topics = hr.LocalTopics("topics")
    topics.create("windows", partitions=PARTITIONS)
    for number in range(20):
        key = hr.Windowed(f"k{number}", hr.Window(0, 10))
        at = partition_for(f"k{number}".encode(), PARTITIONS)
        topics.produce("windows", [hr.Record(key, 1, 10, partition=at)], key_serde=keys)
    builder = hr.StreamsBuilder()
    builder.stream("windows", key_serde=keys).to("out")
    config = hr.StreamsConfig(application_id="app", topics_dir="topics")
    [sample] = sample_keys(builder.build()._graph, config, ["windows"], keys=50)
    assert (sample.keys, sample.misplaced, sample.rule) == (20, {}, "murmur2")
