"""Global tables on Spark: every task has all rows before its first record, and gets later ones."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace import Record, StreamsBuilder
from headrace._graph.configured import configured
from headrace._runtime.spark.planning.layout import layout_of, refuse_incompatible
from headrace._runtime.spark.planning.plan import make_plan
from tests.spark.waiting import wait_until_caught_up
from tests.support.runtimes import SparkRuntime

KEYS = [f"row {number}" for number in range(30)]


def topology():
    """Joins the table in two stages: by a key from the value in the first, by the record's own key in the second."""
    builder = StreamsBuilder()
    table = builder.global_table("table", store="rows", name="table")
    pairs = builder.stream("in").left_join(table, lambda row, has: [row, has], key_selector=lambda key, row: row)
    pairs.to("pairs")
    by_row = pairs.select_key(lambda key, pair: pair[0]).repartition("by-row", partitions=3)
    by_row.left_join(table, lambda pair, has: [*pair, has]).to("again")
    return builder.build()


def rows(text):
    return [Record(key, f"{text} of {key}", 1_000 + number) for number, key in enumerate(KEYS)]


def records(first):
    return [Record(f"k{number}", key, first + number % 5) for number, key in enumerate((*KEYS, "none"))]


def written(runtime, topic, first):
    """Results with at least that timestamp, from all partitions."""
    return sorted((r.key, r.value, r.timestamp_ms) for r in runtime.topics.read(topic) if r.timestamp_ms >= first)


def expected(first, text):
    has = {key: f"{text} of {key}" for key in KEYS}
    pairs = [(f"k{n}", [key, has.get(key)], first + n % 5) for n, key in enumerate((*KEYS, "none"))]
    again = [(key, [key, has.get(key), has.get(key)], timestamp_ms) for _, (key, _), timestamp_ms in pairs]
    return sorted(pairs), sorted(again)


@pytest.fixture
def runtime(spark, tmp_path):
    """Four partitions of the stream, so four tasks, and three of the table."""
    runtime = SparkRuntime(spark, tmp_path)
    runtime.topics.create("in", partitions=4)
    runtime.topics.create("table", partitions=3)
    return runtime


@pytest.mark.slow
@pytest.mark.spark
def test_all_tasks_have_all_rows_before_the_first_record_in_batches_of_any_size_and_after_restarts(runtime):
    runtime.topics.produce("in", records(first=10))
    runtime.topics.produce("table", [*rows("old"), *rows("first"), Record(None, "nobody", 1)])
    app = hr.Streams(topology(), runtime.config(max_records_per_batch=25), spark=runtime.spark)
    app.process_available()
    pairs, again = expected(10, "first")
    assert (written(runtime, "pairs", 10), written(runtime, "again", 10)) == (pairs, again)
    assert list(app.store("rows").all()) == sorted((key, f"first of {key}") for key in KEYS)
    metrics = app.metrics()
    assert metrics["table-source"] == {"records_in": 61}
    assert metrics["table"] == {"dropped": {"null key": 1}}

    runtime.topics.produce("in", records(first=20))
    runtime.topics.produce("table", rows("second"))
    app.process_available()
    pairs, again = expected(20, "second")
    assert (written(runtime, "pairs", 20), written(runtime, "again", 20)) == (pairs, again)

    runtime.topics.produce("table", [Record(key, None, 0) for key in KEYS[:29]])
    app.process_available()
    runtime.topics.produce("in", records(first=30))
    restarted = hr.Streams(topology(), runtime.config(), spark=runtime.spark)
    restarted.process_available()
    assert [pair for pair in written(runtime, "pairs", 30) if pair[1][1] is not None] == [
        ("k29", ["row 29", "second of row 29"], 34)
    ]
    assert list(restarted.store("rows").all()) == [("row 29", "second of row 29")]
    assert restarted.metrics()["table-source"] == {"records_in": 61 + 30 + 29}


@pytest.mark.spark
def test_a_running_application_uses_rows_as_they_arrive(runtime):
    app = hr.Streams(topology(), runtime.config(), spark=runtime.spark)
    app.start()
    try:
        for first, text in ((10, "first"), (20, "second")):
            runtime.topics.produce("table", rows(text))
            wait_until_caught_up(app)
            runtime.topics.produce("in", records(first))
            wait_until_caught_up(app)
    finally:
        app.stop()
    assert written(runtime, "pairs", 0) == sorted([*expected(10, "first")[0], *expected(20, "second")[0]])


@pytest.mark.spark
def test_a_table_that_is_not_joined_has_one_task_and_can_be_queried(runtime):
    builder = StreamsBuilder()
    builder.global_table("table", store="rows", name="table")
    builder.stream("in").to("out")
    runtime.topics.produce("table", rows("only"))
    app = hr.Streams(builder.build(), runtime.config(), spark=runtime.spark)
    app.process_available()
    assert app.store("rows").get("row 7") == "only of row 7"
    assert app.metrics()["table-source"] == {"records_in": 30}


def layout(build, tmp_path):
    builder = StreamsBuilder()
    build(builder)
    config = hr.StreamsConfig(application_id="test", topics_dir=tmp_path / "topics", state_dir=tmp_path / "state")
    graph = configured(builder.build()._graph, config)
    plan = make_plan(graph, config, {"in": 4, "t": 3}, instance="i", epoch=1)
    return layout_of(plan, config), config


def two_stages(builder, joins):
    """Two stages with a store each, which join the global table if `joins` has their number."""
    rows = builder.global_table("t", store="rows")
    stream = builder.stream("in").group_by_key().count(store="first").to_stream()
    stream = stream.join(rows, max) if 0 in joins else stream
    stream = stream.group_by(max, name="by").count(store="second").to_stream()
    if 1 in joins:
        stream.join(rows, max)


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({0}, {0, 1}, "store 'rows' was added to stage 1, which has not read its topic from the start"),
        ({0}, {1}, "store 'rows' moved from stage 0 to stage 1"),
    ],
)
def test_state_does_not_continue_if_tasks_would_have_missed_rows(tmp_path, before, now, said):
    old, config = layout(lambda builder: two_stages(builder, before), tmp_path)
    new, _ = layout(lambda builder: two_stages(builder, now), tmp_path)
    refuse_incompatible(old, old, config)
    with pytest.raises(hr.StateError) as refused:
        refuse_incompatible(old, new, config)
    assert said in str(refused.value)


def test_a_stage_may_stop_reading_a_global_table(tmp_path):
    old, config = layout(lambda builder: two_stages(builder, {0, 1}), tmp_path)
    new, _ = layout(lambda builder: two_stages(builder, {1}), tmp_path)
    refuse_incompatible(old, new, config)


def test_partitions_of_a_global_topic_do_not_add_tasks(tmp_path):
    stages, _ = layout(lambda builder: two_stages(builder, {0, 1}), tmp_path)
    assert [stage.tasks for stage in stages] == [4, 4]
