"""`ensure_explicit_internal_resource_naming` (KIP-1111), and what `max_task_idle` says."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace._graph.configured import configured
from headrace.testing import TopologyTestDriver

STRICT = hr.StreamsConfig(application_id="test", ensure_explicit_internal_resource_naming=True)


def both(left, right):
    return (left, right)


def unnamed(builder):
    builder.stream("in").group_by(lambda key, value: value).count()
    builder.table("table").filter(lambda key, value: True).to_stream().to("out")


def named(builder):
    grouped = builder.stream("in").group_by(lambda key, value: value, name="by-value")
    grouped.count(store="counts")
    grouped.windowed_by(hr.TimeWindows.of(timedelta(seconds=1))).count(store="COUNTS-2")


def test_all_generated_names_are_listed():
    builder = hr.StreamsBuilder()
    unnamed(builder)
    left, right = builder.stream("left"), builder.stream("right")
    left.join(right, both, within=hr.JoinWindows.of(timedelta(seconds=1)))
    builder.table("t1", store="t1").join(builder.table("t2", store="t2"), both, foreign_key=lambda k, v: v)
    with pytest.raises(hr.TopologyError) as refused:
        configured(builder.build()._graph, STRICT)
    listed = [line.strip(" -") for line in str(refused.value).splitlines() if line.startswith("  - ")]
    assert [line.split("'")[1] for line in listed if line.startswith("store")] == [
        "KSTREAM-AGGREGATE-STATE-STORE-0000000002",
        "KSTREAM-JOINTHIS-0000000017-store",
        "KSTREAM-JOINOTHER-0000000018-store",
        "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000028",
    ]
    assert [line.split("'")[1] for line in listed if line.startswith("repartition")] == [
        "KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition",
        "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000024-topic",
        "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000032-topic",
    ]


def test_a_topology_with_names_of_its_own_is_accepted():
    builder = hr.StreamsBuilder()
    named(builder)
    assert configured(builder.build()._graph, STRICT).stores.keys() == {"counts", "COUNTS-2"}


def test_the_test_driver_refuses_generated_names_too():
    builder = hr.StreamsBuilder()
    unnamed(builder)
    with pytest.raises(hr.TopologyError, match="Name stores with store="):
        TopologyTestDriver(builder.build(), STRICT)


def test_kafkas_names_of_the_settings_are_understood():
    config = hr.StreamsConfig.from_mapping(
        {"application.id": "x", "ensure.explicit.internal.resource.naming": "true", "max.task.idle.ms": "0"}
    )
    assert config.ensure_explicit_internal_resource_naming
    assert config.max_task_idle == timedelta(0)


@pytest.mark.parametrize("idle", ["-1", "1000"])
def test_waiting_for_a_slow_input_is_refused_with_what_happens_instead(idle):
    with pytest.raises(hr.ConfigError, match=r"max_task_idle is .* merges the topics by timestamp.* commit_interval"):
        hr.StreamsConfig.from_mapping({"application.id": "x", "max.task.idle.ms": idle})
