"""The states of a real application: start, pause, resume, failure, replacement, stop."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import State, serdes
from tests.spark.waiting import wait_until, wait_until_caught_up

pytestmark = pytest.mark.spark


def application(spark, folder, check=None):
    """Copies numbers; `check` may raise."""
    topics = hr.LocalTopics(folder / "topics")
    topics.create("in", 1)
    builder = hr.StreamsBuilder()
    numbers = builder.stream("in", value_serde=serdes.Long())
    (numbers.peek(check) if check else numbers).to("out")
    config = hr.StreamsConfig(
        application_id="numbers",
        topics_dir=folder / "topics",
        state_dir=folder / "state",
        local_dir=folder / "local",
        spark_partitions=1,
    )
    return topics, hr.Streams(builder.build(), config, spark)


def produce(topics, number):
    topics.produce("in", [hr.Record("k", number, number)], value_serde=serdes.Long())


def written(topics):
    records = topics.read("out", value_serde=serdes.Long()) if "out" in topics.list() else []
    return [(record.key, record.value, record.timestamp_ms) for record in records]


def test_a_paused_application_reads_nothing_until_it_is_resumed(spark, tmp_path):
    topics, app = application(spark, tmp_path)
    changes = []
    app.set_state_listener(lambda new, old: changes.append((old, new)))
    assert app.state is State.CREATED
    app.pause()
    with pytest.raises(hr.StreamsError, match=r"process_available.* while the application is paused"):
        app.process_available()
    app.start()
    with app:
        produce(topics, 1)
        assert (app.state, app.is_paused) == (State.PAUSED, True)
        assert not app.await_termination(timedelta(seconds=2))
        assert written(topics) == []
        app.resume()
        wait_until(lambda: written(topics) == [("k", 1, 1)], app)
        app.pause()
        app.resume()
        produce(topics, 2)
        wait_until_caught_up(app)
        app.stop(timeout=None)
    assert written(topics) == [("k", 1, 1), ("k", 2, 2)]
    assert [new for _, new in changes] == [
        State.STARTING,
        State.PAUSED,
        State.RUNNING,
        State.PAUSED,
        State.RUNNING,
        State.PENDING_SHUTDOWN,
        State.NOT_RUNNING,
    ]
    figures = app.metrics()["application"]
    assert figures["batches"] >= 2
    assert figures["records_per_s"] > 0
    assert sorted(figures["batch_ms"]) == ["max", "p50", "p90"]


def test_an_application_that_fails_is_replaced_until_the_cause_is_gone(spark, tmp_path):
    marker = tmp_path / "broken"
    marker.touch()

    def check(key, value):
        if marker.exists():
            message = "the database is away"
            raise ConnectionError(message)

    topics, app = application(spark, tmp_path, check)
    errors = []

    def decide(error):
        errors.append(str(error))
        marker.unlink(missing_ok=True)
        return "replace"

    app.set_uncaught_exception_handler(decide)
    produce(topics, 1)
    app.start()
    with app:
        wait_until(lambda: written(topics) == [("k", 1, 1)], app)
        assert app.state is State.RUNNING
    assert app.state is State.NOT_RUNNING
    assert len(errors) == 1
    assert "the database is away" in errors[0]


def test_an_application_that_fails_says_so(spark, tmp_path):
    def check(key, value):
        message = "no"
        raise ValueError(message)

    topics, app = application(spark, tmp_path, check)
    produce(topics, 1)
    app.start()
    with pytest.raises(hr.ProcessingError, match="ValueError: no"):
        app.await_termination()
    assert app.state is State.ERROR
    app.stop()
    assert app.state is State.ERROR
