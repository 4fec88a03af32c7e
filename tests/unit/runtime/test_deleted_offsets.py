"""An application on embedded topics that delete old records."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from tests.support.plan_runner import PlanRunner

TOO_OLD_MS = 1000  # by the wall clock


def copied():
    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    return builder.build()


@pytest.fixture
def topics(tmp_path):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", 1, retention=timedelta(days=1))
    return topics


def test_first_start_begins_with_the_first_record_that_is_left(topics, tmp_path):
    topics.produce("in", [hr.Record("a", 1, TOO_OLD_MS)])
    topics.produce("in", [hr.Record("b", 2)])
    assert topics.describe("in").begin_offsets == (1,)
    PlanRunner(copied(), tmp_path).run_batch(10)
    assert [(record.key, record.value) for record in topics.read("out")] == [("b", 2)]


def test_application_that_needs_deleted_records_stops_with_an_error(topics, tmp_path):
    topics.produce("in", [hr.Record("a", 1, TOO_OLD_MS)])
    PlanRunner(copied(), tmp_path).run_batch(10)
    topics.produce("in", [hr.Record("b", 2, TOO_OLD_MS)])
    topics.produce("in", [hr.Record("c", 3)])
    with pytest.raises(hr.TopicError, match="'in', partition 0: the records at offsets 1 to 1 are deleted"):
        PlanRunner(copied(), tmp_path).run_batch(10)
    assert [(record.key, record.value) for record in topics.read("out")] == [("a", 1)]
