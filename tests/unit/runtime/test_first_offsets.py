"""Where an application begins to read: the offset resets of sources and of the configuration."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import AutoOffsetReset
from tests.support.plan_runner import PlanRunner

NOW_MS = 100_000


@pytest.fixture
def topics(tmp_path):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=2)
    records = [(1, 10_000, 0), (2, 95_000, 0), (3, 20_000, 0), (4, 30_000, 1)]
    topics.produce("in", [hr.Record("k", value, at, partition=p) for value, at, p in records])
    return topics


def copied(**options):
    builder = hr.StreamsBuilder()
    builder.stream("in", **options).to("out")
    return builder.build()


def configured(reset):
    return hr.StreamsConfig(application_id="test", auto_offset_reset=reset)


def run(topology, tmp_path, reset="earliest"):
    runner = PlanRunner(topology, tmp_path, config=configured(reset), clock_ms=NOW_MS)
    while runner.run_batch(limit=100):
        pass
    return runner


def values(topics, topic="out"):
    return sorted(record.value for record in topics.read(topic)) if topic in topics.list() else []


SINCE = AutoOffsetReset.by_duration(timedelta(seconds=10))
OLD = AutoOffsetReset.by_duration(timedelta(days=1))


@pytest.mark.parametrize(
    ("reset", "before"),
    [
        ("earliest", [1, 2, 3, 4]),
        ("latest", []),
        (AutoOffsetReset.earliest(), [1, 2, 3, 4]),
        (AutoOffsetReset.latest(), []),
        (SINCE, [2, 3]),
        ("by_duration:PT10S", [2, 3]),
        (OLD, [1, 2, 3, 4]),
    ],
)
@pytest.mark.parametrize("where", ["source", "config"])
def test_reset_decides_where_an_application_begins_and_only_once(topics, tmp_path, reset, before, where):
    options, default = ({"offset_reset": reset}, "earliest") if where == "source" else ({}, reset)
    run(copied(**options), tmp_path, default)
    assert values(topics) == before
    topics.produce("in", [hr.Record("k", 5, 0, partition=1)])
    run(copied(**options), tmp_path, default)
    assert values(topics) == [*before, 5]


def test_position_of_a_start_without_a_batch_is_kept(topics, tmp_path):
    PlanRunner(copied(), tmp_path, config=configured("latest"))
    topics.produce("in", [hr.Record("k", 5, 0, partition=1)])
    run(copied(), tmp_path, "latest")
    assert values(topics) == [5]


def test_none_refuses_to_begin_and_continues_from_a_position(topics, tmp_path):
    with pytest.raises(hr.TopicError) as refused:
        run(copied(offset_reset="none"), tmp_path)
    assert str(refused.value) == (
        "Application 'test' has no position in topic 'in', partition 0, and its offset reset is 'none', which refuses "
        f"to choose one. If its state in {str(tmp_path / 'state')!r} is lost, restore it; to begin anew, start once "
        "with 'earliest', 'latest' or AutoOffsetReset.by_duration(...)."
    )
    run(copied(offset_reset="latest"), tmp_path)
    topics.produce("in", [hr.Record("k", 5, 0, partition=1)])
    run(copied(offset_reset=AutoOffsetReset.none()), tmp_path)
    assert values(topics) == [5]


def test_every_source_has_its_own_reset(topics, tmp_path):
    topics.create("users", partitions=2)
    topics.create("rates", partitions=1)
    topics.create("new-rates", partitions=1)
    for topic in ("users", "rates", "new-rates"):
        topics.produce(topic, [hr.Record("k", f"{topic} row", 1)])
    builder = hr.StreamsBuilder()
    builder.table("users", offset_reset="latest").to_stream().to("users-out")
    rates = builder.global_table("rates")
    new_rates = builder.global_table("new-rates", offset_reset="latest")
    stream = builder.stream("in", offset_reset=SINCE)
    stream.left_join(rates, lambda value, rate: [value, rate], key_selector=lambda key, _: key).left_join(
        new_rates, lambda value, rate: [*value, rate], key_selector=lambda key, _: key
    ).to("out")
    run(builder.build(), tmp_path, "latest")
    # A global table begins at the beginning, whatever is configured, unless its own reset says otherwise.
    assert values(topics) == [[2, "rates row", None], [3, "rates row", None]]
    assert values(topics, "users-out") == []


def test_source_of_the_processor_api_has_a_reset(topics, tmp_path):
    topology = hr.Topology().add_source("in", "in", offset_reset="latest").add_sink("out", "out", "in")
    run(topology, tmp_path)
    assert values(topics) == []


@pytest.mark.parametrize(
    "text",
    [
        "by_duration",
        "by_duration:",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:-PT1S",
        5,
    ],
)
def test_wrong_resets_are_refused(text):
    with pytest.raises(hr.ConfigError, match=r"auto_offset_reset is .*; allowed: 'earliest', 'latest', 'none', or "):
        configured(text)


@pytest.mark.parametrize("text", ["by_duration:P9999999999D", f"by_duration:PT{'9' * 400}S"])
def test_a_duration_that_is_too_long_is_refused_as_such(text):
    with pytest.raises(hr.ConfigError) as refused:
        configured(text)
    reason = "the duration is too long: at most 999999999 days are allowed."
    assert str(refused.value) == f"auto_offset_reset is {text!r}; {reason}"


@pytest.mark.parametrize("duration", [timedelta(seconds=-1), 5])
def test_wrong_durations_are_refused(duration):
    with pytest.raises(hr.TopologyError, match="it needs a timedelta of 0 or more"):
        AutoOffsetReset.by_duration(duration)


def test_kafkas_form_of_a_duration_is_understood():
    settings = {"application.id": "a", "auto.offset.reset": "by_duration:P1DT2H3M4.5S"}
    duration = timedelta(days=1, hours=2, minutes=3, seconds=4.5)
    assert hr.StreamsConfig.from_mapping(settings).offset_reset == AutoOffsetReset.by_duration(duration)
    assert str(AutoOffsetReset.by_duration(timedelta(hours=6))) == "by_duration(6:00:00)"
