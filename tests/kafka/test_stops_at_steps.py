"""Kills and pauses at every step of a commit, on Kafka: nothing is lost or written twice."""

from __future__ import annotations

import pytest

from headrace import serdes
from tests.kafka.test_streams import of_each_key
from tests.spark.test_kill import lines, reference
from tests.spark.test_stops_at_steps import LINES
from tests.support.stop_points import STEPS
from tests.support.stopped_application import StoppedApplication

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory):
    """The output of an undisturbed run by key, a millisecond later: Kafka's client cannot write timestamp 0."""
    written = of_each_key(reference(spark, tmp_path_factory.mktemp("undisturbed"), (LINES - 10) // 40))
    return {key: [(value, time_ms + 1) for value, time_ms in rows] for key, rows in written.items()}


@pytest.fixture
def filled(topics):
    topics.create("lines", partitions=4)
    later = [record.with_timestamp(record.timestamp_ms + 1) for record in lines(1, LINES)]
    topics.produce("lines", later, value_serde=serdes.String())
    return topics


def finish(directory, broker, partitions):
    last = StoppedApplication(directory, None, 0, broker=broker, partitions=partitions)
    assert last.end() == ["running", "done"], last.stderr.read_text()


@pytest.mark.parametrize("victim", ["driver", "worker"])
@pytest.mark.parametrize("step", STEPS)
def test_kill_at_a_step_loses_nothing_and_writes_nothing_twice(tmp_path, broker, filled, undisturbed, step, victim):
    kills = 0
    for batch in range(5):
        run = StoppedApplication(tmp_path, step, batch, broker=broker, partitions=1 + batch % 2)
        pid = run.wait()
        if pid is None:
            run.end()
        else:
            kills += 1
            run.kill(pid, victim)
    finish(tmp_path, broker, 2)
    assert of_each_key(filled) == undisturbed
    assert kills >= 2


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("step", STEPS)
def test_paused_start_writes_nothing_when_it_resumes_after_another_start(
    tmp_path, broker, filled, undisturbed, step, partitions
):
    paused = StoppedApplication(tmp_path, step, int(step != "started"), broker=broker, partitions=partitions)
    pid = paused.wait()
    finish(tmp_path, broker, 3 - partitions)
    said = paused.resume(pid)
    assert of_each_key(filled) == undisturbed
    assert "was started again" in said, said


@pytest.mark.parametrize("number", range(20))
def test_two_first_starts_at_once_write_everything_once(tmp_path, broker, filled, undisturbed, number):
    both = [
        StoppedApplication(tmp_path, None, 0, broker=broker, partitions=1 + (number + other) % 2) for other in range(2)
    ]
    ends = [run.end() for run in both]
    assert ["running", "done"] in ends, [run.stderr.read_text() for run in both]
    assert of_each_key(filled) == undisturbed
