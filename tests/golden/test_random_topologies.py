"""What Kafka Streams wrote for a fixed sample of random topologies is what we write; see `conformance/fuzz`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.fuzz.description import Case
from conformance.fuzz.generator import random_case
from conformance.fuzz.plan import on_plan, taken_in_order
from conformance.fuzz.run import on_driver
from conformance.fuzz.sample import load
from conformance.fuzz.sound import is_sound

SAMPLE = load()
SHARES = 4


@pytest.mark.parametrize("share", range(SHARES))
def test_driver_writes_what_kafka_streams_wrote(share):
    chosen = SAMPLE[share::SHARES]
    found = {recorded.case.seed: compared(on_driver(recorded.case)) for recorded in chosen}
    assert found == {recorded.case.seed: compared(recorded.answer) for recorded in chosen}


def test_plan_writes_what_the_driver_writes():
    chosen = [prepared(recorded.case) for recorded in SAMPLE if runs_on_plan(recorded)][::16]
    found = {case.seed: on_plan(case)["outputs"] for case in chosen}
    assert found == {case.seed: on_driver(case)["outputs"] for case in chosen}


def test_sample_has_every_operator():
    generated = {node.op for seed in range(300) for node in random_case(seed).nodes}
    assert {node.op for recorded in SAMPLE for node in recorded.case.nodes} == generated


def test_a_case_survives_its_way_through_json():
    for seed in range(50):
        case = random_case(seed)
        assert is_sound(case.nodes)
        assert Case.from_json(seed, case.as_json()) == case


def compared(answer):
    """Messages of errors are not Kafka's."""
    return {part: answer.get(part) for part in ("outputs", "failed", "stores")}


def runs_on_plan(recorded):
    """Whether a batch takes all that follows from it in the given order, and nothing fails."""
    nodes = recorded.case.nodes
    return "failed" not in recorded.answer and all(n.op != "through" and "extractor" not in n.options for n in nodes)


def prepared(case):
    return replace(case, steps=tuple(taken_in_order(case)))
