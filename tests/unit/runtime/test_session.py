"""The application's own session: its JVM starts early, and it has the settings of the application that uses it."""

from __future__ import annotations

import os

import pytest
from pyspark import SparkContext

import headrace as hr
from headrace._runtime.spark.session import session
from headrace.errors import ConfigError


@pytest.fixture
def launches(monkeypatch):
    """Replaces the launch of JVMs; lists the applications that would have launched one."""
    launched = []

    def launch(config):
        launched.append(config.application_id)
        if config.application_id == "broken":
            message = "no Java"
            raise ConfigError(message)
        return {"spark.app.name": config.application_id}

    monkeypatch.setattr(session, "_launch", launch)
    monkeypatch.setattr(session, "_launching", [])
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    return launched


def config(name, **settings):
    return hr.StreamsConfig(application_id=name, **settings)


def test_session_waits_for_a_launch_that_began_early(launches):
    mine = config("mine")
    session.begin_launch(mine)
    assert (session._launched(mine), launches) == ({"spark.app.name": "mine"}, ["mine"])


def test_error_of_an_early_launch_is_raised_for_its_own_application_only(launches):
    mine = config("broken")
    session.begin_launch(mine)
    with pytest.raises(ConfigError, match="no Java"):
        session._launched(mine)
    assert session._launched(config("next")) == {"spark.app.name": "next"}


@pytest.mark.parametrize("first", ["other", "broken"])
def test_application_has_its_own_settings_although_another_began_a_launch(launches, first):
    session.begin_launch(config(first))
    assert session._launched(config("mine")) == {"spark.app.name": "mine"}
    assert launches == [first, "mine"]


def test_no_jvm_is_launched_for_a_session_elsewhere(launches):
    session.begin_launch(config("mine", spark={"spark.remote": "sc://host"}))
    assert (session._launching, launches) == ([], [])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"spark.master": "local"}, 1),
        ({"spark.master": "local[3]"}, 3),
        ({"spark.master": "local[3,2]"}, 3),
        ({"spark.master": "local[*]"}, os.cpu_count()),
        ({"spark.master": "local[*]", "spark.default.parallelism": "5"}, 5),
        ({"spark.master": "local-cluster[2,1,1024]"}, None),
        ({"spark.master": "spark://host:7077", "spark.default.parallelism": "5"}, None),
    ],
)
def test_cores_of_a_local_session_are_known_before_it_exists(monkeypatch, launches, settings, expected):
    monkeypatch.setattr(session, "_launch", lambda _: settings)
    mine = config("mine")
    session.begin_launch(mine)
    assert session.cores_of_launched(mine) == expected


@pytest.mark.parametrize("first", [None, "other", "broken"])
def test_cores_are_unknown_unless_the_jvm_of_the_application_runs(launches, first):
    mine = config(first or "mine")
    if first is not None:
        session.begin_launch(config("other") if first == "other" else mine)
    assert session.cores_of_launched(config("mine") if first == "other" else mine) is None
