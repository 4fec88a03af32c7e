"""Partitioners: functions that choose the partitions of records in output topics, repartitions, foreign-key joins."""

from __future__ import annotations

import zlib

import pytest

import headrace as hr
from headrace import ProcessingError, Record, StateError, StreamsBuilder, TopologyError, serdes
from headrace._core.partitioning import partition_for
from headrace.testing import TopologyTestDriver
from tests.support.plan_runner import PlanRunner

PARTITIONS = 3


def crc32(topic, key, value, partitions):
    """How librdkafka partitions by default."""
    return zlib.crc32(key.encode()) % partitions


def last(topic, key, value, partitions):
    return partitions - 1


def run(topology, directory, inputs, *, partitions=PARTITIONS, partitioner=None, limit=5, config=None):
    """Runs the plan over topics that are written by `partitioner`; returns the runner."""
    topics = hr.LocalTopics(directory / "topics")
    for topic in topology._graph.source_topics:
        topics.create(topic, partitions=partitions)
    for topic, key, value, timestamp_ms in inputs:
        at = None if partitioner is None else partitioner(topic, key, value, partitions)
        topics.produce(topic, [Record(key, value, timestamp_ms, partition=at)])
    runner = PlanRunner(topology, directory, config=config)
    while runner.run_batch(limit):
        pass
    return runner


def keys_by_partition(runner, topic):
    return {p: [key.decode() for key, _, _ in rows] for p, rows in runner.output(topic).items()}


def test_a_partitioner_sees_topic_key_value_and_the_number_of_partitions(runtime):
    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda *given: assert_given(given))

    def assert_given(given):
        assert given in (("out", "a", 1, 1), ("out", None, 2, 1))
        return 0

    outputs, _ = runtime.run(builder.build(), [("in", "a", 1, 10), ("in", None, 2, 11)])
    assert outputs == {"out": [Record("a", 1, 10), Record(None, 2, 11)]}


def test_records_go_to_the_chosen_partitions(tmp_path):
    answers = {"one": 1, "both": [2, 0, 2], "default": None, "nowhere": ()}
    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda topic, key, value, partitions: answers[key], name="sink")
    runner = run(builder.build(), tmp_path, [("in", key, "x", 10 + i) for i, key in enumerate(answers)])
    expected = {0: ["both"], 1: ["one"], 2: ["both"]}
    expected[partition_for(b"default", PARTITIONS)].append("default")
    assert keys_by_partition(runner, "out") == expected
    assert runner.metrics()["sink"]["dropped"] == {"no partition": 1}
    assert runner.metrics()["topic out"]["records_out"] == 4


def test_order_is_that_of_processing_if_some_records_have_a_chosen_partition(tmp_path):
    builder = StreamsBuilder()
    builder.stream("in").flat_map_values(lambda value: range(6)).to(
        "out", partitioner=lambda topic, key, value, partitions: None if value % 2 else partition_for(b"a", partitions)
    )
    runner = run(builder.build(), tmp_path, [("in", "a", "x", 1), ("in", "a", "y", 2)])
    values = [value for rows in runner.output("out").values() for _, value, _ in rows]
    assert values == [str(number).encode() for number in range(6)] * 2


@pytest.mark.parametrize("answer", [3, -1, "0", True, 1.0, [0, 3], "12"])
def test_a_partition_that_does_not_exist_is_a_production_error(answer, tmp_path):
    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda *_: answer, name="sink")
    with pytest.raises(
        ProcessingError, match=r"sink failed on record in-\d@0 \(key 'a'.*topic 'out', which has 3 part"
    ):
        run(builder.build(), tmp_path, [("in", "a", "x", 10)])


def test_a_dynamic_topic_may_have_a_partitioner(tmp_path):
    builder = StreamsBuilder()
    builder.stream("in").to(lambda key, value, context: f"to-{value}", partitioner=last)
    runner = run(builder.build(), tmp_path, [("in", str(i), "xy"[i % 2], i) for i in range(6)])
    assert keys_by_partition(runner, "to-x") == {0: [], 1: [], 2: ["0", "2", "4"]}
    assert keys_by_partition(runner, "to-y") == {0: [], 1: [], 2: ["1", "3", "5"]}


def test_windowed_keys_go_to_the_partition_of_their_inner_key_by_the_default_rule(tmp_path):
    from datetime import timedelta

    builder = StreamsBuilder()
    windows = hr.TimeWindows.of(timedelta(milliseconds=10))
    counts = builder.stream("in").group_by_key().windowed_by(windows).count().to_stream()
    counts.to(lambda key, value, context: "chosen")
    counts.to("static", partitioner=lambda *_: None)
    counts.to("plain")
    runner = run(builder.build(), tmp_path, [("in", str(i % 7), "x", i) for i in range(50)])
    assert runner.output("chosen") == runner.output("static") == runner.output("plain")
    assert all(runner.output("plain").values())


def test_a_repartition_routes_records_to_tasks_by_its_partitioner(tmp_path):
    builder = StreamsBuilder()
    by_value = builder.stream("in").select_key(lambda key, value: value)
    by_value.repartition("again", partitioner=crc32).group_by_key().count(store="counts").to_stream().to(
        "out", partitioner=crc32
    )
    inputs = [("in", str(i), f"v{i % 7}", i) for i in range(60)]
    runner = run(builder.build(), tmp_path, inputs)
    keys = {f"v{i}": crc32("", f"v{i}", None, PARTITIONS) for i in range(7)}
    found = keys_by_partition(runner, "out")
    assert {key: {p for p, listed in found.items() if key in listed} for key in keys} == {
        key: {partition} for key, partition in keys.items()
    }
    config = hr.StreamsConfig(
        application_id="test", topics_dir=tmp_path / "topics", state_dir=tmp_path / "state", local_dir=tmp_path / "l"
    )
    view = hr.Streams(builder.build(), config).store("counts")
    assert {key: view.get(key) for key in keys} == {f"v{i}": 60 // 7 + (i < 60 % 7) for i in range(7)}


def test_a_repartitioned_stream_meets_the_rows_of_a_topic_that_a_crc32_producer_wrote(tmp_path):
    def topology(partitioner):
        builder = StreamsBuilder()
        rows = builder.table("rows")
        stream = builder.stream("in").select_key(lambda key, value: value)
        stream.repartition("again", partitioner=partitioner).left_join(rows, lambda v, row: row).to("out")
        return builder.build()

    keys = [f"k{i}" for i in range(20)]
    inputs = [("rows", key, f"row of {key}", 1) for key in keys] + [("in", key, key, 2) for key in keys]

    def joined(directory, partitioner):
        runner = run(topology(partitioner), directory, inputs, partitioner=crc32)
        return [value for rows in runner.output("out").values() for _, value, _ in rows]

    assert sorted(joined(tmp_path / "crc32", crc32)) == sorted(f'"row of {key}"'.encode() for key in keys)
    assert joined(tmp_path / "murmur2", None).count(None) > 5


def test_a_foreign_key_join_follows_the_partitioners_of_its_tables(tmp_path):
    def topology(**options):
        builder = StreamsBuilder()
        left, right = builder.table("left"), builder.table("right")
        joined = left.join(right, lambda v, w: [v, w], foreign_key=lambda key, value: value, **options)
        joined.to_stream().to("out")
        left.to_stream().join(
            right,
            lambda v, w: [v, w],
            foreign_key=lambda key, value: value,
            **{name: value for name, value in options.items() if name == "other_partitioner"},
        ).to("stream-out")
        return builder.build()

    given = []

    def watched(topic, key, value, partitions):
        given.append((value, partitions))
        return crc32(topic, key, value, partitions)

    inputs = [("right", f"r{i}", f"R{i}", 1) for i in range(8)] + [("left", f"l{i}", f"r{i % 8}", 2) for i in range(16)]
    runner = run(topology(partitioner=watched, other_partitioner=watched), tmp_path / "a", inputs, partitioner=crc32)
    expected = sorted((f"l{i}", f'["r{i % 8}","R{i % 8}"]') for i in range(16))
    for topic in ("out", "stream-out"):
        found = sorted(
            (key.decode(), value.decode()) for rows in runner.output(topic).values() for key, value, _ in rows
        )
        assert found == expected
    assert set(given) == {(None, PARTITIONS)}
    runner = run(topology(), tmp_path / "b", inputs, partitioner=crc32)
    assert sum(map(len, runner.output("stream-out").values())) < 16


def test_a_repartition_refuses_several_partitions(tmp_path):
    builder = StreamsBuilder()
    builder.stream("in").repartition("again", partitioner=lambda *_: {0, 1}).to("out")
    with pytest.raises(
        ProcessingError, match=r"record of the internal topic 'again-repartition' goes to one partition"
    ):
        run(builder.build(), tmp_path, [("in", "a", "x", 10)])
    single = StreamsBuilder()
    single.stream("in").repartition("again", partitioner=lambda *_: {1}).to("out", partitioner=last)
    assert keys_by_partition(run(single.build(), tmp_path / "single", [("in", "a", "x", 10)]), "out")[2] == ["a"]


def test_joined_repartitions_must_have_the_same_partitioner():
    builder = StreamsBuilder()
    first = builder.stream("a").repartition("first", partitioner=crc32)
    with pytest.raises(
        TopologyError, match=r"'first-repartition' is partitioned by .*crc32, 'second-repartition' by Ka"
    ):
        first.left_join(builder.stream("b").repartition("second").to_table(), lambda v, w: w)
    first.left_join(builder.stream("c").repartition("third", partitioner=crc32).to_table(), lambda v, w: w)
    first.left_join(builder.table("d"), lambda v, w: w)


def test_a_foreign_key_join_refuses_a_table_that_is_partitioned_by_another_rule():
    builder = StreamsBuilder()
    right = builder.stream("right").repartition("again", partitioner=crc32).to_table()
    left = builder.table("left")
    with pytest.raises(TopologyError, match=r"join\(\) needs topics that are partitioned alike.*other_partitioner="):
        left.join(right, lambda v, w: w, foreign_key=lambda key, value: value)
    left.join(right, lambda v, w: w, foreign_key=lambda key, value: value, other_partitioner=crc32)


def test_partitioners_that_are_no_functions_are_refused():
    stream = StreamsBuilder().stream("in")
    with pytest.raises(TopologyError, match=r"to\(\) needs a function partitioner\(topic, key, value, partitions\)"):
        stream.to("out", partitioner=3)
    with pytest.raises(TopologyError, match=r"repartition\(\) needs a function partitioner"):
        stream.repartition(partitioner="murmur2")
    with pytest.raises(TopologyError, match=r"add_sink\('sink'\)\(\) needs|add_sink\('sink'\) needs a function"):
        hr.Topology().add_source("source", "in").add_sink("sink", "out", "source", partitioner=3)


def test_a_changed_partitioner_does_not_fit_the_state(tmp_path):
    def topology(partitioner):
        builder = StreamsBuilder()
        stream = builder.stream("in").repartition("again", partitioner=partitioner)
        stream.group_by_key().count(store="counts").to_stream().to("out")
        return builder.build()

    run(topology(crc32), tmp_path, [("in", "a", "x", 10)])
    PlanRunner(topology(crc32), tmp_path)
    with pytest.raises(
        StateError, match=r"'again-repartition' is partitioned by Kafka's default rule; it was by .*crc32"
    ):
        PlanRunner(topology(None), tmp_path)


def test_the_driver_has_one_partition_for_every_topic():
    builder = StreamsBuilder()
    builder.stream("in").repartition("again", partitioner=crc32).to("out", partitioner=last)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("a", "x", 1)
        assert driver.output_topic("out").read_all() == [Record("a", "x", 1)]


def test_serialized_values_do_not_depend_on_the_partitioner(tmp_path):
    """The batch form of a chain of functions is not used before a partitioner."""
    builder = StreamsBuilder()
    stream = builder.stream("in", value_serde=serdes.Json()).map_values(lambda value: [value])
    stream.to("plain")
    stream.to("routed", partitioner=lambda topic, key, value, partitions: None)
    runner = run(builder.build(), tmp_path, [("in", str(i), i, i) for i in range(30)], limit=100)
    assert runner.output("plain") == runner.output("routed")
