"""Topics that begin or cease to match a pattern: which are read, what happens to tasks and state."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import headrace as hr
from headrace import serdes
from headrace._graph.configured import configured
from headrace._graph.partitions import partition_counts
from headrace._graph.patterns import pattern_key, with_matching_topics
from headrace._runtime.spark.planning.batch_planner import BatchPlanner
from headrace._runtime.spark.starting import log_of
from headrace._runtime.spark.state_directory.log import current_view, state_log
from headrace._runtime.spark.topics.backend import backend_of
from headrace.errors import NewPartitionsError
from tests.support.plan_runner import PlanRunner

ORDERS = re.compile("orders-.*")
SERDES = {"value_serde": serdes.String()}


@pytest.fixture
def topics(tmp_path):
    return hr.LocalTopics(tmp_path / "topics")


def counting(**options):
    builder = hr.StreamsBuilder()
    orders = builder.stream(ORDERS, **SERDES, **options)
    orders.group_by_key(**SERDES).count(store="counts").to_stream().map_values(str).to("out", **SERDES)
    return builder.build()


def produce(topics, topic, *records):
    topics.produce(topic, [hr.Record(*record[:3], partition=record[3]) for record in records], **SERDES)


def written(topics):
    return sorted((r.timestamp_ms, r.key, r.value) for r in topics.read("out", **SERDES))


def run(runner):
    while runner.run_batch(limit=100):
        pass


def test_topics_that_appear_are_read_from_their_beginning_with_tasks_as_needed(topics, tmp_path):
    topics.create("orders-eu", partitions=1)
    produce(topics, "orders-eu", ("a", "x", 1, 0))
    runner = PlanRunner(counting(), tmp_path)
    run(runner)
    topics.create("orders-us", partitions=3)
    topics.create("payments", partitions=9)
    produce(topics, "orders-us", ("a", "x", 2, 0), ("b", "x", 3, 2))
    with pytest.raises(NewPartitionsError) as change:
        runner.run_batch(limit=100)
    assert str(change.value) == (
        "Topic 'orders-us' matches the pattern 'orders-.*' of source 'KSTREAM-SOURCE-0000000000'. The query starts "
        "again with the topics that match now."
    )
    runner.restart()
    assert [stage.tasks for stage in runner.plan.chain] == [3]
    assert runner.plan.source_topics == ("orders-eu", "orders-us")
    run(runner)
    produce(topics, "orders-eu", ("a", "x", 4, 0))
    runner.restart()
    run(runner)
    assert written(topics) == [(1, "a", "1"), (2, "a", "2"), (3, "b", "1"), (4, "a", "3")]


def test_application_starts_before_any_topic_matches(topics, tmp_path):
    topics.create("payments", partitions=1)
    runner = PlanRunner(counting(), tmp_path)
    assert not runner.run_batch(limit=100)
    topics.create("orders-eu", partitions=2)
    produce(topics, "orders-eu", ("a", "x", 1, 1))
    runner.restart()
    run(runner)
    assert written(topics) == [(1, "a", "1")]


def test_catch_up_run_reads_the_topics_that_exist_at_its_start(topics, tmp_path):
    topics.create("orders-eu", partitions=1)
    produce(topics, "orders-eu", ("a", "x", 1, 0))
    runner = PlanRunner(counting(), tmp_path)
    planner = BatchPlanner(runner.plan, backend_of(runner.plan))
    until = planner.ends()
    topics.create("orders-us", partitions=1)
    produce(topics, "orders-us", ("b", "x", 2, 0))
    assert planner.next(current_view(runner.plan), until).ends == {"orders-eu-0": 1}


def test_repeated_batch_reads_the_same_records_although_a_topic_has_appeared(topics, tmp_path):
    topics.create("orders-eu", partitions=1)
    produce(topics, "orders-eu", ("a", "x", 1, 0))
    runner = PlanRunner(counting(), tmp_path)
    planned = BatchPlanner(runner.plan, backend_of(runner.plan)).next(current_view(runner.plan))
    state_log(runner.plan).plan(current_view(runner.plan), planned)
    topics.create("orders-africa", partitions=2)
    produce(topics, "orders-africa", ("a", "x", 0, 1))
    runner.restart()
    view = current_view(runner.plan)
    repeated = BatchPlanner(runner.plan, backend_of(runner.plan)).next(view)
    assert repeated == planned
    starts = BatchPlanner(runner.plan, backend_of(runner.plan)).starts(view)
    assert list(runner.plan.ranges(starts, repeated.ends)) == [(("orders-eu", 0), 0, 1)]
    run(runner)
    # Task 0 counts partition 0 of every topic, task 1 counts partition 1.
    assert written(topics) == [(0, "a", "1"), (1, "a", "1")]


def test_tasks_and_their_rows_stay_when_the_largest_topic_disappears(topics, tmp_path, monkeypatch):
    topics.create("orders-eu", partitions=1)
    topics.create("orders-us", partitions=3)
    produce(topics, "orders-us", ("a", "x", 1, 2))
    runner = PlanRunner(counting(), tmp_path)
    run(runner)
    backend = type(backend_of(runner.plan))
    everything = backend.topics
    monkeypatch.setattr(backend, "topics", lambda self: {n: p for n, p in everything(self).items() if n != "orders-us"})
    monkeypatch.setattr(backend, "refuse_changed_topics", lambda self, plan: None)
    for _ in range(2):
        runner.restart()
        assert runner.plan.source_topics == ("orders-eu",)
        assert [stage.tasks for stage in runner.plan.chain] == [3]
    assert set(current_view(runner.plan).state.offsets) == {"orders-eu-0"}
    monkeypatch.undo()
    runner.restart()  # the topic is there again: for Headrace, it is a new one
    run(runner)
    assert written(topics) == [(1, "a", "1"), (1, "a", "2")]


def test_repeated_batch_whose_topic_was_deleted_is_refused(topics, tmp_path, monkeypatch):
    topics.create("orders-eu", partitions=1)
    produce(topics, "orders-eu", ("a", "x", 1, 0))
    runner = PlanRunner(counting(), tmp_path)
    planned = BatchPlanner(runner.plan, backend_of(runner.plan)).next(current_view(runner.plan))
    state_log(runner.plan).plan(current_view(runner.plan), planned)
    monkeypatch.setattr(type(backend_of(runner.plan)), "topics", lambda self: {"other": 1})
    with pytest.raises(hr.TopicError) as refused:
        runner.restart()
    assert str(refused.value) == (
        "A batch of application 'test' did not finish and must be repeated with the same records, but topic "
        "'orders-eu', of which it reads offsets 0 to 0, has been deleted. Start over: use another application_id and "
        "state_dir, or run `headrace reset`."
    )


def test_repeated_batch_whose_topic_was_created_again_with_fewer_records_is_refused(topics, tmp_path, monkeypatch):
    topics.create("orders-eu", partitions=2)
    produce(topics, "orders-eu", ("a", "x", 1, 0), ("b", "x", 2, 1), ("c", "x", 3, 1))
    runner = PlanRunner(counting(), tmp_path)
    planned = BatchPlanner(runner.plan, backend_of(runner.plan)).next(current_view(runner.plan))
    state_log(runner.plan).plan(current_view(runner.plan), planned)
    with monkeypatch.context() as patched:
        patched.setattr(type(backend_of(runner.plan)), "ends", lambda self, places: [1 for _ in places])
        with pytest.raises(hr.TopicError) as refused:
            runner.restart()
    assert str(refused.value) == (
        "A batch of application 'test' did not finish and must be repeated with the same records, but topic "
        "'orders-eu', of which it reads offsets 0 to 1, ends at offset 1. Was it deleted and created again? Start "
        "over: use another application_id and state_dir, or run `headrace reset`."
    )
    runner.restart()
    run(runner)
    assert written(topics) == [(1, "a", "1"), (2, "b", "1"), (3, "c", "1")]


def test_new_tasks_would_lack_the_rows_of_a_global_table(topics, tmp_path):
    builder = hr.StreamsBuilder()
    rates = builder.global_table("rates", store="rates")
    builder.stream(ORDERS).join(rates, lambda order, rate: [order, rate]).to("out")
    topics.create("rates", partitions=1)
    topics.create("orders-eu", partitions=2)
    runner = PlanRunner(builder.build(), tmp_path)
    topics.create("orders-us", partitions=1)
    runner.restart()
    topics.create("orders-asia", partitions=3)
    with pytest.raises(hr.StateError) as refused:
        runner.restart()
    assert str(refused.value).startswith(
        f"Application 'test' cannot continue from its state in {str(tmp_path / 'state')!r}: a topic that matches "
        "'orders-.*' has 3 partitions, and there are 2 tasks. New tasks would lack the rows of global table 'rates', "
        "which the other tasks have read. Create the topic with at most 2 partitions;"
    )


def test_joined_topics_must_have_equal_partitions_and_one_must_exist():
    builder = hr.StreamsBuilder()
    users = builder.table("users")
    builder.stream(ORDERS).join(users, lambda order, user: user).to("out")
    graph = builder.build()._graph

    def counts(**topics):
        named = {name.replace("_", "-"): number for name, number in topics.items()}
        return partition_counts(with_matching_topics(graph, named), named)[1]

    assert counts(users=2) == [2]
    assert counts(users=2, orders_eu=2, orders_us=2) == [2]
    with pytest.raises(hr.TopicError, match="'orders-eu' has 2, 'orders-us' has 3"):
        counts(users=2, orders_eu=2, orders_us=3)

    builder = hr.StreamsBuilder()
    users = builder.stream("users").select_key(max).to_table(name="by")
    builder.stream(ORDERS).join(users, lambda order, user: user).to("out")
    graph = builder.build()._graph
    with pytest.raises(hr.TopicError) as refused:
        counts(users=2)
    assert str(refused.value).startswith(
        "join() needs to know how many partitions its topics have, but no topic matches the pattern 'orders-.*' of "
        "source 'KSTREAM-SOURCE-"
    )
    assert counts(users=2, orders_eu=4) == [2, 4]


def test_repartitioned_keys_stay_in_their_tasks_when_topics_appear(topics, tmp_path):
    builder = hr.StreamsBuilder()
    counts = builder.stream(ORDERS, **SERDES).group_by(lambda _, value: value, name="by", **SERDES).count(store="n")
    counts.to_stream().map_values(str).to("out", **SERDES)
    topics.create("orders-eu", partitions=2)
    produce(topics, "orders-eu", ("a", "x", 1, 0), ("a", "y", 2, 1))
    runner = PlanRunner(builder.build(), tmp_path)
    run(runner)
    topics.create("orders-us", partitions=5)
    produce(topics, "orders-us", ("a", "y", 3, 4), ("a", "x", 4, 0))
    runner.restart()
    assert runner.plan.partitions["by-repartition"] == 2
    run(runner)
    assert written(topics) == [(1, "x", "1"), (2, "y", "1"), (3, "y", "2"), (4, "x", "2")]


def test_changed_pattern_applies_the_reset_to_topics_that_are_new_to_the_application(topics, tmp_path):
    topics.create("orders-eu", partitions=1)
    topics.create("sales-eu", partitions=1)
    produce(topics, "sales-eu", ("a", "x", 1, 0))
    config = hr.StreamsConfig(application_id="test", auto_offset_reset="latest")
    run(PlanRunner(counting(), tmp_path, config=config))
    builder = hr.StreamsBuilder()
    orders = builder.stream(re.compile("(orders|sales)-.*"), **SERDES)
    orders.group_by_key(**SERDES).count(store="counts").to_stream().map_values(str).to("out", **SERDES)
    runner = PlanRunner(builder.build(), tmp_path, config=config)
    produce(topics, "sales-eu", ("a", "x", 2, 0))
    topics.create("sales-us", partitions=1)
    produce(topics, "sales-us", ("b", "x", 3, 0))
    runner.restart()
    run(runner)
    assert written(topics) == [(2, "a", "1"), (3, "b", "1")]


def test_state_log_has_the_patterns_and_the_tasks(topics, tmp_path):
    topics.create("orders-eu", partitions=2)
    runner = PlanRunner(counting(), tmp_path)
    config = hr.StreamsConfig(application_id="test", state_dir=tmp_path / "state")
    start = log_of(config).view().start
    assert start.patterns == ("orders-.*",)
    assert start.layout[0]["patterns"] == {"orders-.*": 2}
    assert start.first_offsets == {"orders-eu-0": 0, "orders-eu-1": 0}
    assert replace(runner.plan).patterns == ("orders-.*",)


def test_own_output_dead_letters_and_topics_read_by_name_never_match():
    builder = hr.StreamsBuilder()
    builder.stream(re.compile("(?!in$).*")).group_by(lambda _, value: value, name="by").count().to_stream().to("out")
    builder.stream("in").to("copies")
    handler = {"processing_exception_handler": "dead_letter", "dead_letter_topic": "dead"}
    config = hr.StreamsConfig(application_id="test", **handler)
    names = ("in", "out", "copies", "dead", "by-repartition", "orders")
    graph = with_matching_topics(configured(builder.build()._graph, config), dict.fromkeys(names, 1))
    assert [source.topics for source in graph.user_sources] == [("orders",), ("in",)]


def test_flags_distinguish_patterns():
    assert pattern_key(re.compile("a")) == "a"
    assert pattern_key(re.compile("a", re.IGNORECASE)) != pattern_key(re.compile("a"))
