"""Settings of the Kafka client reach every worker, but nobody else sees them."""

from __future__ import annotations

import pytest

from tests.spark.test_security import check_that_others_see_neither_secrets_nor_state, machine  # noqa: F401
from tests.support.other_users import needs_root

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, needs_root]


def test_secrets_and_state_are_not_seen_from_outside(topics, broker, machine):  # noqa: F811
    check_that_others_see_neither_secrets_nor_state(machine, broker.bootstrap_servers)
