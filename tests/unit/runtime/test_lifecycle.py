"""The state of an application, and the thread that starts its query again, tested without Spark."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

import headrace as hr
from headrace import State
from headrace._runtime.lifecycle import Lifecycle, Supervisor, pause_before_restart_s
from headrace.errors import NewPartitionsError


class Query:
    """Ends as a script says: with an error, or without one. Records what the supervisor does."""

    def __init__(self, *ends, batches=()):
        self.ends = list(ends)
        self.batches = list(batches)
        self.done = []

    def await_end(self):
        end = self.ends.pop(0)
        if end is not None:
            raise end

    def start(self):
        self.done.append("started")

    def committed_batch(self):
        return self.batches.pop(0) if self.batches else 0

    def supervise(self, lifecycle):
        supervisor = Supervisor(
            self.await_end, self.start, self.committed_batch, lifecycle, lambda: self.done.append("ended")
        )
        supervisor.pause_s = lambda failures: self.done.append(f"paused after {failures}") or 0.0
        supervisor.start()
        return supervisor


@pytest.fixture
def lifecycle():
    tracked = Lifecycle()
    tracked.changes = []
    tracked.listener = lambda new, old: tracked.changes.append((old, new))
    return tracked


WITHIN = timedelta(seconds=10)


def test_a_query_that_ends_leaves_the_application_not_running(lifecycle):
    query = Query(None)
    lifecycle.move_to(State.RUNNING)
    assert query.supervise(lifecycle).wait(WITHIN)
    assert query.done == ["ended"]
    assert lifecycle.changes == [(State.CREATED, State.RUNNING), (State.RUNNING, State.NOT_RUNNING)]


def test_without_a_handler_an_error_stops_the_application_and_is_raised_at_every_wait(lifecycle):
    query = Query(hr.StateError("broken"))
    supervisor = query.supervise(lifecycle)
    for _ in range(2):
        with pytest.raises(hr.StateError, match="broken"):
            supervisor.wait(WITHIN)
    assert (query.done, lifecycle.state) == (["ended"], State.ERROR)


def test_replace_starts_again_and_pauses_grow_until_a_batch_is_committed(lifecycle):
    lifecycle.uncaught_exception_handler = lambda _: "replace"
    errors = [hr.StateError(str(number)) for number in range(4)]
    query = Query(*errors, None, batches=[7, 7, 7, 8])
    assert query.supervise(lifecycle).wait(WITHIN)
    pauses = [what for what in query.done if what.startswith("paused")]
    assert pauses == ["paused after 1", "paused after 2", "paused after 3", "paused after 1"]
    assert query.done.count("started") == 4


@pytest.mark.parametrize("answer", ["shutdown_client", "shutdown_application", "anything", None])
def test_any_other_answer_stops(lifecycle, answer):
    lifecycle.uncaught_exception_handler = lambda _: answer
    query = Query(hr.StateError("broken"))
    with pytest.raises(hr.StateError, match="broken"):
        query.supervise(lifecycle).wait(WITHIN)
    assert query.done == ["ended"]


def test_a_handler_that_raises_stops_with_the_original_error(lifecycle):
    lifecycle.uncaught_exception_handler = lambda _: 1 / 0
    with pytest.raises(hr.StateError, match="broken"):
        Query(hr.StateError("broken")).supervise(lifecycle).wait(WITHIN)


def test_new_partitions_start_the_query_again_without_asking_the_handler(lifecycle):
    query = Query(NewPartitionsError("one more"), None)
    assert query.supervise(lifecycle).wait(WITHIN)
    assert query.done == ["started", "ended"]


def test_no_query_starts_after_restarts_were_prevented(lifecycle):
    lifecycle.uncaught_exception_handler = lambda _: "replace"
    asked = threading.Event()
    query = Query(hr.StateError("broken"))
    supervisor = Supervisor(
        query.await_end, query.start, query.committed_batch, lifecycle, lambda: query.done.append("ended")
    )

    def long_pause(_):
        asked.set()
        return 600.0

    supervisor.pause_s = long_pause
    supervisor.start()
    assert asked.wait(10)
    supervisor.prevent_restarts()
    assert supervisor.wait(WITHIN)
    assert query.done == ["ended"]


def test_a_listener_that_raises_does_not_stop_the_change(lifecycle, caplog):
    lifecycle.listener = lambda *_: 1 / 0
    lifecycle.move_to(State.RUNNING)
    assert lifecycle.state is State.RUNNING
    assert "The state listener failed on the change from CREATED to RUNNING" in caplog.text


def test_pauses_double_up_to_a_minute():
    assert [pause_before_restart_s(failures) for failures in (1, 2, 3, 6, 7, 50)] == [1, 2, 4, 32, 60, 60]
