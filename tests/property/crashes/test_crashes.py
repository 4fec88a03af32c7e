"""Kills, stops and power losses, at random, at every step and in known bad sequences."""

from __future__ import annotations

import time
from itertools import count

import pytest

from headrace._state.log import state_log as state_logs
from tests.property.crashes.events import FOREVER, WAKE, Scenario, SingleEvent
from tests.property.crashes.world import World, run_world
from tests.support.dose import examples
from tests.support.simulation.disk import ROOT
from tests.support.simulation.scheduler import CONTINUE, KILL, KILL_ALL, LOSE_POWER

TOPICS = pytest.mark.parametrize("kafka", [False, True], ids=["embedded", "kafka"])
SEEDS = [range(first, first + examples(25)) for first in (0, 1_000)]
PRODUCT_NUMBERS = state_logs._BASE_EVERY, state_logs._KEEP_BEFORE_BASE


@TOPICS
@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"seeds {seeds.start} to {seeds.stop - 1}")
@pytest.mark.usefixtures("in_memory")
def test_random_crashes_neither_lose_nor_duplicate_output_or_state(kafka, seeds):
    began_s = time.monotonic()
    crashes = sum(run_world(World(seed, kafka=kafka, crashes=40)) for seed in seeds)
    print(f"\n{crashes} crashes in {time.monotonic() - began_s:.1f} s")
    assert crashes > 10 * len(seeds)


@pytest.mark.slow
@pytest.mark.usefixtures("in_memory")
def test_a_hundred_thousand_crashes_lose_and_duplicate_nothing():
    crashes, seed, began_s = 0, 1_000, time.monotonic()
    while crashes < 100_000:
        crashes += run_world(World(seed, kafka=seed % 2 == 0, crashes=100))
        seed += 1
    print(f"\n{crashes} crashes in {time.monotonic() - began_s:.0f} s, seeds 1000 to {seed - 1}")


@TOPICS
def test_random_crashes_lose_and_duplicate_nothing_with_real_replicas_and_blobs(kafka, tmp_path):
    for seed in range(examples(20)):
        run_world(World(seed, kafka=kafka, crashes=10, replicas=tmp_path / str(seed)))


def try_every_step(event, batches, *, kafka, of=1):
    """Runs a world for each step, with the event at that step; returns the number of steps.

    With `of`, at one step in so many; in the default dose, at one in nineteen.
    """
    for step in count(5 % of, of) if examples(10) == 10 else count(5, 19):
        script = SingleEvent(step, event, batches)
        run_world(World(step, kafka=kafka, crashes=1000, script=script))
        if not script.happened:
            return step
    raise AssertionError


@TOPICS
@pytest.mark.parametrize("event", [KILL, KILL_ALL, LOSE_POWER], ids=["one process killed", "all killed", "power loss"])
@pytest.mark.usefixtures("in_memory")
def test_a_crash_at_any_step_of_a_start_loses_and_duplicates_nothing(kafka, event):
    assert try_every_step(event, 8, kafka=kafka) > 100


@TOPICS
@pytest.mark.usefixtures("in_memory")
def test_a_start_that_is_paused_at_any_step_ends_when_it_finds_that_others_took_over(kafka):
    assert try_every_step(FOREVER, 30, kafka=kafka) > 100


@pytest.mark.slow
@TOPICS
@pytest.mark.usefixtures("in_memory")
def test_a_paused_start_also_ends_when_others_trimmed_the_log_at_the_products_own_pace(kafka, monkeypatch):
    monkeypatch.setattr(state_logs, "_BASE_EVERY", PRODUCT_NUMBERS[0])
    monkeypatch.setattr(state_logs, "_KEEP_BEFORE_BASE", PRODUCT_NUMBERS[1])
    assert try_every_step(FOREVER, 150, kafka=kafka, of=9) > 100


ENTRIES = f"{ROOT}/log"
SCENARIOS = {
    "no process acts on an entry that a power loss may still remove": (
        (f"link {ENTRIES}/000000000002", CONTINUE),
        (f"sync {ENTRIES}", KILL),
        ("{visible}", CONTINUE),
        ("", LOSE_POWER),
    ),
    "directories are durable though their creator was killed": (
        (f"sync {ROOT}", CONTINUE),
        (f"sync {ROOT}", KILL_ALL),
        ("{visible}", CONTINUE),
        ("", LOSE_POWER),
    ),
    "a start that sweeps late does not end the start that took over": (
        ("{prepared}", CONTINUE),
        (f"list {ENTRIES}", FOREVER),
        (f"link {ENTRIES}/000000000003", WAKE),
    ),
}


@TOPICS
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
@pytest.mark.usefixtures("in_memory")
def test_sequence_that_once_failed_loses_and_duplicates_nothing(kafka, scenario):
    visible, prepared = ("commit transaction 0",) * 2 if kafka else ("publish batch 0", "sweep topics")
    for seed in range(10):
        script = Scenario(*((awaited.format(visible=visible, prepared=prepared), event) for awaited, event in scenario))
        run_world(World(seed, kafka=kafka, crashes=1000, script=script))
        assert not script.pending


@pytest.mark.usefixtures("in_memory")
def test_no_commit_follows_output_that_a_power_loss_may_still_remove():
    for seed in range(10):
        script = Scenario(("publish batch 1", CONTINUE), ("sync topics", KILL_ALL), ("publish batch 2", LOSE_POWER))
        run_world(World(seed, crashes=1000, script=script))
        assert not script.pending
