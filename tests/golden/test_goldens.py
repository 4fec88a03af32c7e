"""Headrace writes exactly the recorded output of Kafka Streams: on the driver, on the plan Spark runs, and on Spark."""

from __future__ import annotations

import pytest

from conformance.catalogue import REQUIRES, TOPOLOGIES
from tests.golden.deviations import RESET_BY_RESTART, expected
from tests.golden.goldens import goldens, ids
from tests.golden.multiplex import Worlds
from tests.golden.replays import on_driver, on_plan, on_spark, on_spark_with_a_clock, settings
from tests.support.dose import sample

STAGES_PER_QUERY = 12


def topology_param(topology_id):
    """A parameter; topologies that still lack a feature are strict expected failures, so that adding it is noticed."""
    reason = REQUIRES.get(topology_id)
    marks = [pytest.mark.xfail(strict=True, reason=f"needs {reason}")] if reason else []
    return pytest.param(topology_id, marks=marks)


IDS = [topology_param(topology_id) for topology_id in ids()]


def test_every_topology_has_goldens():
    assert sorted(TOPOLOGIES) == ids()


@pytest.mark.parametrize("topology_id", IDS)
def test_driver_writes_what_kafka_streams_wrote(topology_id):
    found = {golden.name: on_driver(golden, "record by record") for golden in goldens(topology_id)}
    assert found == {golden.name: expected(golden) for golden in goldens(topology_id)}


@pytest.mark.parametrize("topology_id", [chosen for chosen in IDS if chosen.values[0] not in RESET_BY_RESTART])
def test_driver_writes_what_kafka_streams_wrote_with_restarts_in_between(topology_id):
    chosen = sample(goldens(topology_id))
    found = {golden.name: on_driver(golden, "restarts") for golden in chosen}
    assert found == {golden.name: expected(golden, golden.restarts("restarts")) for golden in chosen}


@pytest.mark.parametrize("mode", ["cut at random", pytest.param("one by one", marks=pytest.mark.slow)])
@pytest.mark.parametrize("topology_id", IDS)
def test_plan_writes_what_kafka_streams_wrote(topology_id, mode):
    chosen = [golden for golden in goldens(topology_id) if golden.error is None]
    chosen = chosen[:2] if mode == "one by one" else sample(chosen)
    found = {golden.name: on_plan(golden, mode) for golden in chosen}
    assert found == {golden.name: expected(golden) for golden in chosen}


def queries():
    """Goldens grouped into queries of one configuration, with a bounded number of stages.

    Each variation of a topology has its own stages. Only the slow tests run variations after the first, and fifteen of
    sixteen queries of the first.
    """
    first, others, old_events, handling = [], [], [], []
    for topology_id in ids():
        variations = {}
        for golden in goldens(topology_id) if topology_id not in REQUIRES else ():
            if writes_old_events(golden):
                old_events.append(golden)
            elif handles_errors(golden):
                handling.append(golden)
            elif golden.error is None and not golden.depends_on_name_lengths:
                variations.setdefault(Worlds._kind(golden), []).append(golden)
        first += list(variations.values())[:1]
        others += list(variations.values())[1:]
    first_queries = split_into_queries(first)
    usual = first_queries[::16]
    rest = [*(query for query in first_queries if query not in usual), *split_into_queries(others)]
    return [
        *(pytest.param(chosen, id=query_id(chosen)) for chosen in usual),
        *(
            pytest.param(chosen, id=query_id(chosen), marks=pytest.mark.slow)
            for chosen in (old_events, handling, *rest)
        ),
    ]


def split_into_queries(variations):
    """Lists of goldens that fit into one query each."""
    listed, stages = [[]], 0
    for scenarios in variations:
        cost = len(scenarios[0].topology()._graph.stores) + 1
        if stages + cost > STAGES_PER_QUERY and listed[-1]:
            listed.append([])
            stages = 0
        listed[-1] += scenarios
        stages += cost
    return listed


def query_id(chosen):
    return f"{chosen[0].id}..{chosen[-1].id}"


def writes_old_events(golden):
    return golden.id not in REQUIRES and settings(golden).writes_old_change_events


def handles_errors(golden):
    return golden.id not in REQUIRES and settings(golden).processing_exception_handler != "fail"


QUERIES = pytest.mark.parametrize("chosen", queries())


def expected_outputs(replayed, restarts):
    keys = [(golden.id, golden.name) for golden in replayed]
    return {key: expected(golden, [restarts[key]]) for key, golden in zip(keys, replayed, strict=True)}


@pytest.mark.spark
@pytest.mark.parametrize(
    "chosen", [query for query in queries() if any(golden.batchable for golden in query.values[0])]
)
def test_spark_writes_what_kafka_streams_wrote(spark, chosen):
    replayed = [golden for golden in chosen if golden.batchable]
    found, restarts = on_spark(spark, replayed, "cut at random")
    assert found == expected_outputs(replayed, restarts)


def has_usual_settings(golden):
    """Whether the golden runs with the settings that most of them have."""
    return not writes_old_events(golden) and not handles_errors(golden)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("share", range(8))
def test_spark_takes_records_of_several_topics_one_by_one_as_kafka_streams_does(spark, share):
    """For an eighth of the ids, one scenario whose records would be processed in another order if given all at once."""
    listed = [golden for query in queries() for golden in query.values[0] if has_usual_settings(golden)]
    crossing = [golden for golden in listed if not golden.batchable and not golden.clocked]
    replayed = list({golden.id: golden for golden in reversed(crossing)}.values())[share::8]
    found, restarts = on_spark(spark, replayed, "one by one")
    assert found == expected_outputs(replayed, restarts)


@pytest.mark.slow
@pytest.mark.spark
@QUERIES
def test_spark_writes_what_kafka_streams_wrote_one_by_one(spark, chosen):
    replayed = [golden for golden in chosen if not golden.clocked]
    found, restarts = on_spark(spark, replayed, "one by one")
    assert found == expected_outputs(replayed, restarts)


def scenarios_with_clock():
    """Scenarios that advance the wall clock; only the slow tests run those after the first of each id."""
    listed = [[golden for golden in goldens(topology_id) if golden.clocked] for topology_id in ids()]
    return [
        pytest.param(golden, id=f"{golden.id}: {golden.name}", marks=[pytest.mark.slow] if number else [])
        for scenarios in listed
        if scenarios and scenarios[0].id not in REQUIRES
        for number, golden in enumerate(scenarios)
    ]


@pytest.mark.spark
@pytest.mark.parametrize("golden", scenarios_with_clock())
def test_spark_fires_by_the_wall_clock_as_kafka_streams_does(spark, golden):
    assert on_spark_with_a_clock(spark, golden) == golden.outputs
