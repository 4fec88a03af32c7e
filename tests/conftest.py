"""Fixtures shared by all tests: one Spark session per run, and the runtimes that must give the same results."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.support.runtimes import FAST_START, DriverRuntime, PlanRuntime, SparkRuntime

settings.register_profile(
    "headrace",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("headrace")


@pytest.fixture(scope="session")
def spark():
    """One local Spark session for all tests, created as `Streams` creates it."""
    import headrace as hr
    from headrace._runtime.spark.session.session import own_session

    session = own_session(hr.StreamsConfig(application_id="tests", spark=FAST_START))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory):
    """One Kafka broker for all tests of this process; skips them if it is not available."""
    from tests.support.broker import Broker, BrokerUnavailableError, resolve

    try:
        resolve()
    except BrokerUnavailableError as problem:
        pytest.skip(str(problem))
    started = Broker(tmp_path_factory.mktemp("broker"))
    started.start()
    yield started
    started.kill()


@pytest.fixture(params=["driver", "plan", pytest.param("spark", marks=pytest.mark.spark)])
def runtime(request, tmp_path):
    """Runs a topology over records and returns the contents of its output topics."""
    if request.param == "driver":
        return DriverRuntime()
    if request.param == "plan":
        return PlanRuntime(tmp_path)
    return SparkRuntime(request.getfixturevalue("spark"), tmp_path)


def pytest_collection_modifyitems(items):
    """Marks the tests of the `runtime` fixture on Spark as slow, except the first of each file."""
    seen = set()
    for item in items:
        if "runtime" in getattr(item, "fixturenames", ()) and "[spark" in item.name:
            if item.path in seen:
                item.add_marker(pytest.mark.slow)
            seen.add(item.path)
