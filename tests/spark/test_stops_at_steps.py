"""Kills at every step of a commit, and pauses there during another start: nothing is lost or written twice."""

from __future__ import annotations

import pytest

from tests.spark.test_kill import contents, fill, lines, reference
from tests.support.stop_points import STEPS
from tests.support.stopped_application import StoppedApplication

pytestmark = pytest.mark.spark

LINES = 130
EMBEDDED = [step for step in STEPS if step != "planned"]
QUICK = [("committed", "driver", 1)]


def cases(times):
    """Every combination of step and victim, fused and spread; the quick tests run a few of them."""
    for step in EMBEDDED:
        for victim in ("driver", "worker"):
            for partitions in (1, 2):
                quick = (step, victim, partitions) in QUICK
                yield pytest.param(step, victim, partitions, times, marks=() if quick else pytest.mark.slow)


def finish(directory, partitions):
    last = StoppedApplication(directory, None, 0, partitions=partitions)
    assert last.end() == ["running", "done"], last.stderr.read_text()


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory):
    return contents(reference(spark, tmp_path_factory.mktemp("undisturbed"), (LINES - 10) // 40))


@pytest.mark.parametrize(("step", "victim", "partitions", "times"), list(cases(5)))
def test_kill_at_a_step_loses_nothing_and_writes_nothing_twice(tmp_path, undisturbed, step, victim, partitions, times):
    topics = fill(tmp_path, lines(1, LINES))
    kills = 0
    for batch in range(times if step != "committed" or victim == "worker" else 2):
        run = StoppedApplication(tmp_path, step, batch, partitions=1 + (partitions + batch) % 2)
        pid = run.wait()
        if pid is None:
            run.end()
        else:
            kills += 1
            run.kill(pid, victim)
    finish(tmp_path, partitions)
    assert contents(topics) == undisturbed
    assert kills >= 2


@pytest.mark.slow
@pytest.mark.parametrize("step", EMBEDDED)
def test_paused_start_writes_nothing_when_it_resumes_after_another_start(tmp_path, undisturbed, step):
    topics = fill(tmp_path, lines(1, LINES))
    paused = StoppedApplication(tmp_path, step, int(step != "started"), partitions=2)
    pid = paused.wait()
    finish(tmp_path, 1)
    said = paused.resume(pid)
    assert contents(topics) == undisturbed
    assert "was started again on" in said or "was started again (start" in said, said


@pytest.mark.slow
def test_two_first_starts_at_once_write_everything_once(tmp_path, undisturbed):
    for number in range(20):
        directory = tmp_path / str(number)
        topics = fill(directory, lines(1, LINES))
        both = [StoppedApplication(directory, None, 0, partitions=1 + (number + other) % 2) for other in range(2)]
        ends = [run.end() for run in both]
        assert ["running", "done"] in ends, [run.stderr.read_text() for run in both]
        assert contents(topics) == undisturbed, number
