"""Fixtures: one broker, without topics of other tests."""

from __future__ import annotations

import pytest

import headrace as hr
from tests.support.runtimes import FAST_START


@pytest.fixture
def topics(broker):
    """The topics of the broker, after those of other tests are deleted."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    left = hr.KafkaTopics(broker.bootstrap_servers).list()
    if left:
        for deleted in admin.delete_topics(left, operation_timeout=30).values():
            deleted.result()
    return hr.KafkaTopics(broker.bootstrap_servers)


@pytest.fixture
def config(broker, tmp_path):
    """Settings of an application on the broker."""

    def settings(**changes):
        paths = {"state_dir": tmp_path / "state", "local_dir": tmp_path / "local"}
        chosen = {"application_id": f"app-{tmp_path.name}", **paths, **changes}
        return hr.StreamsConfig(bootstrap_servers=broker.bootstrap_servers, spark=FAST_START, **chosen)

    return settings
