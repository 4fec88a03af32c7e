"""An application may switch between the old and the new form of table events, with correct results."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace._runtime.spark.stages import frames
from headrace._runtime.spark.stages.task_runner import TaskRunner
from tests.support.plan_runner import PlanRunner
from tests.support.runtimes import SparkRuntime

STARTS = ["3.4", None, "2.8", None]
WRITTEN = [
    ("A", "+0", 0),
    ("A", "+0-0+1", 10),
    ("A", "+0-0+1-1", 20),
    ("A", "+0-0+1-1+2", 20),
    ("A", "+0-0+1-1+2-2+3", 30),
]


def topology():
    builder = hr.StreamsBuilder()
    rows = builder.table("in").group_by(lambda key, value: (value[0], value[1:]))
    rows.aggregate(
        str, lambda _, value, text: f"{text}+{value}", lambda _, value, text: f"{text}-{value}", store="text"
    ).to_stream().to("out")
    return builder.build()


@pytest.mark.slow
@pytest.mark.spark
def test_state_continues_when_restarts_switch_between_both_forms(spark, tmp_path):
    runtime = SparkRuntime(spark, tmp_path)
    for number, version in enumerate(STARTS):
        runtime.produce(topology(), [("in", "1", f"A{number}", 10 * number)])
        app = hr.Streams(topology(), runtime.config(upgrade_from=version), spark=spark)
        app.process_available()
    found = [(record.key, record.value, record.timestamp_ms) for record in runtime.outputs(topology())["out"]]
    assert found == WRITTEN
    assert app.store("text").get("A") == WRITTEN[-1][1]


@pytest.fixture
def flags(monkeypatch):
    """The flag of every event that is sent to the aggregation, in fused and in spread batches."""
    noted, run_stage = [], TaskRunner.run_stage

    def watched(runner, stage, received):
        received = list(received)
        channel = runner._plan.channels["text-repartition"]
        for frame in received:
            if frame.channel == channel:
                noted.extend(value[-1] for value in frames.to_columns(frames.decode(frame.payload)).values)
        return run_stage(runner, stage, received)

    monkeypatch.setattr(TaskRunner, "run_stage", watched)
    return noted


def test_events_between_stages_have_the_configured_form(tmp_path, flags):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=1)
    runner = PlanRunner(topology(), tmp_path)
    seen = []
    for number, version in enumerate(STARTS):
        runner.config = hr.StreamsConfig(application_id="test", upgrade_from=version)
        runner.restart()
        topics.produce("in", [hr.Record("1", f"A{number}", 10 * number)])
        flags.clear()
        runner.run_batch(10)
        seen.append(list(flags))
    assert seen == [[1], [2], [0, 1], [2]]
    assert [(record.key, record.value, record.timestamp_ms) for record in topics.read("out")] == WRITTEN
