"""Runs a case on the plan that Spark runs, all but Spark itself: in batches cut at random, with restarts between."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from random import Random

import headrace as hr
from conformance.fuzz.build import topology_of
from conformance.fuzz.description import Case, Step
from conformance.fuzz.run import CONFIG, DEFAULTS, Answer, as_listed, sinks_of
from conformance.order import merge_ordered
from headrace import serdes
from tests.support.plan_runner import PlanRunner

_MOST_RECORDS = 1_000
_CUT_SHARE = 0.25
_RESTART_SHARE = 0.25
_TEXT = serdes.String()


def taken_in_order(case: Case) -> list[Step]:
    """The records in the order in which a batch processes them: global tables first, then by smallest head timestamp.

    Steps that advance the wall clock stay where they are; the records between two of them are a batch of their own.
    """
    tables = {topic for node in case.nodes if node.op == "global_table" for topic in node.options["topics"]}
    ordered: list[Step] = []
    stretch: list[Step] = []
    for step in [*case.steps, ["@advance", 0]]:
        if step[0] != "@advance":
            stretch.append(step)
            continue
        ordered += [record for record in stretch if record[0] in tables]
        ordered += merge_ordered([record for record in stretch if record[0] not in tables])
        ordered.append(step)
        stretch = []
    return ordered[:-1]


def refusal_of(case: Case) -> Answer | None:
    """The answer to a case that cannot run in batches, or that the library refuses."""
    if any(node.op == "through" for node in case.nodes):
        return {"gave up": "a topic that is written and read takes another batch"}
    if len(case.topics) > 1 and any("extractor" in node.options for node in case.nodes):
        return {"gave up": "an extractor changes the order in which topics are read"}
    try:
        topology_of(case)
    except hr.StreamsError as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    return None


def on_plan(case: Case) -> Answer:
    """The outputs of a case by topic; its seed decides how the input is cut into batches."""
    refusal = refusal_of(case)
    if refusal is not None:
        return refusal
    home = Path(tempfile.mkdtemp(prefix="headrace-fuzz-"))
    try:
        return _run(case, topology_of(case), home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _run(case: Case, topology: hr.Topology, home: Path) -> Answer:
    rng = Random(case.seed)  # noqa: S311
    topics = hr.LocalTopics(home / "topics")
    for topic in case.topics:
        topics.create(topic, 1)
    runner = PlanRunner(topology, home, config=CONFIG)
    # Schedules by the wall clock count from the start of their task: a restart would move them.
    restarts = not any(node.options.get("fn") in ("tick_wall", "flush_wall") for node in case.nodes)
    try:
        runner.run_batch(_MOST_RECORDS, tick=True)
        for batch in _batches(case.steps, rng):
            if restarts and rng.random() < _RESTART_SHARE:
                runner.restart()
            if batch[0][0] == "@advance":
                runner.clock_ms += batch[0][1]
                runner.run_batch(_MOST_RECORDS, tick=True)
                continue
            for topic in case.topics:
                records = [hr.Record(*step[1:], partition=0) for step in batch if step[0] == topic]
                topics.produce(topic, records, _TEXT, _TEXT)
            while runner.run_batch(_MOST_RECORDS):
                pass
    except hr.StreamsError as error:
        return {"outputs": {}, "failed": -1, "message": f"{type(error).__name__}: {error}"}
    return {"outputs": outputs_of(topics, topology)}


def _batches(steps: tuple[Step, ...], rng: Random) -> list[list[Step]]:
    """The steps cut at random; a step that advances the wall clock is a batch of its own."""
    batches: list[list[Step]] = []
    for step in steps:
        clocked = step[0] == "@advance" or (batches and batches[-1][0][0] == "@advance")
        if not batches or clocked or rng.random() < _CUT_SHARE:
            batches.append([])
        batches[-1].append(step)
    return batches


def outputs_of(topics: hr.LocalTopics, topology: hr.Topology, prefix: str = "") -> dict[str, list[list[object]]]:
    """What a topology has written to its output topics, whose names have a prefix in `topics`."""
    written = set(topics.list())
    return {
        topic: [as_listed(record) for record in topics.read(prefix + topic, *DEFAULTS.serdes(sink))]
        if prefix + topic in written
        else []
        for topic, sink in sorted(sinks_of(topology).items())
    }
