"""Bad input, damaged files, wrong directories: the error names the cause, nothing is lost, the next run continues."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

import headrace as hr
from headrace import Record, StreamsBuilder, serdes
from headrace._runtime.spark.starting import start
from tests.spark.waiting import wait_until_caught_up
from tests.support.runtimes import SparkRuntime

pytestmark = pytest.mark.spark

HERE = Path(__file__).name


@pytest.fixture
def runtime(spark, tmp_path):
    return SparkRuntime(spark, tmp_path)


def counting(transform=lambda value: value, **sink):
    builder = StreamsBuilder()
    counted = builder.stream("in").map_values(transform, name="transform").group_by_key()
    counted.aggregate(list, lambda key, value, seen: [*seen, value], store="seen").to_stream().to("out", **sink)
    return builder.build()


def records(*values):
    return [("in", "k", value, 10 + i) for i, value in enumerate(values)]


def run(runtime, topology, **config):
    hr.Streams(topology, runtime.config(**config), spark=runtime.spark).process_available()


def test_unknown_topic_is_named_and_the_application_runs_once_it_exists(runtime):
    topology = counting()
    runtime.topics.create("inn", partitions=1)
    with pytest.raises(hr.TopicError, match=r"reads topic 'in', which does not exist. Did you mean 'inn'\?"):
        run(runtime, topology)
    assert runtime.topics.list() == ["inn"]
    runtime.produce(topology, records(1))
    run(runtime, topology)
    assert runtime.outputs(topology)["out"] == [Record("k", [1], 10)]


def test_function_that_raises_is_reported_with_operator_record_and_line_and_nothing_is_lost(runtime):
    def halve(value):
        return 10 / value

    runtime.produce(counting(), records(1, 2))
    run(runtime, counting(halve))
    runtime.produce(counting(), records(5, 0, 4))
    with pytest.raises(hr.ProcessingError) as raised:
        run(runtime, counting(halve))
    message = str(raised.value)
    assert "transform failed on record in-0@3 (key 'k', timestamp 11), task 0_0: ZeroDivisionError" in message
    assert f"{HERE}:" in message
    assert "in halve: return 10 / value" in message
    assert runtime.outputs(counting())["out"] == [Record("k", [10.0], 10), Record("k", [10.0, 5.0], 11)]
    run(runtime, counting(lambda value: halve(value) if value else None))
    assert runtime.outputs(counting())["out"] == [
        Record("k", [10.0], 10),
        Record("k", [10.0, 5.0], 11),
        Record("k", [10.0, 5.0, 2.0], 11),
        Record("k", [10.0, 5.0, 2.0, 2.5], 12),
    ]


def test_unserializable_value_is_reported_with_the_sink_and_nothing_is_written(runtime):
    topology = counting(value_serde=serdes.Long(), name="sink")
    runtime.produce(topology, records(1))
    with pytest.raises(hr.ProcessingError) as raised:
        run(runtime, topology)
    assert "sink failed on record in-0@0" in str(raised.value)
    assert "Long() cannot serialize [1] of type list" in str(raised.value)
    assert runtime.outputs(topology)["out"] == []
    run(runtime, counting(name="sink"))
    assert runtime.outputs(counting())["out"] == [Record("k", [1], 10)]


def test_undecodable_record_is_reported_with_its_topic_partition_and_offset(runtime):
    topology = counting()
    runtime.produce(topology, records(1, 2))
    runtime.topics.produce("in", [Record("k", "{not json", 12)], value_serde=serdes.String())
    with pytest.raises(
        hr.ProcessingError, match=r"KSTREAM-SOURCE-0000000000 failed on record in-0@2 .*Json\(\) cannot"
    ):
        run(runtime, topology)
    assert runtime.outputs(topology)["out"] == []


def test_corrupt_segment_file_is_named_and_the_application_continues_once_it_is_restored(runtime):
    topology = counting()
    runtime.produce(topology, records(1))
    run(runtime, topology)
    before = set((runtime.directory / "topics" / "segments").iterdir())
    runtime.produce(topology, records(2))
    (segment,) = set((runtime.directory / "topics" / "segments").iterdir()) - before
    sound = segment.read_bytes()
    damaged = bytearray(sound)
    damaged[len(damaged) // 2] ^= 0xFF
    segment.write_bytes(damaged)
    with pytest.raises(hr.TopicError) as raised:
        run(runtime, topology)
    assert segment.name in str(raised.value)
    assert "'in'" in str(raised.value)
    assert runtime.outputs(topology)["out"] == [Record("k", [1], 10)]
    segment.write_bytes(sound)
    run(runtime, topology)
    assert runtime.outputs(topology)["out"] == [Record("k", [1], 10), Record("k", [1, 2], 10)]


def test_state_directory_of_another_application_is_refused_and_left_alone(runtime):
    topology = counting()
    runtime.produce(topology, records(1))
    run(runtime, topology)
    other = hr.StreamsConfig(
        application_id="other", topics_dir=runtime.directory / "topics", state_dir=runtime.directory / "state"
    )
    with pytest.raises(hr.StateError, match="belongs to application 'test', not to 'other'"):
        hr.Streams(topology, other, spark=runtime.spark).process_available()
    runtime.produce(topology, records(2))
    run(runtime, topology)
    assert runtime.outputs(topology)["out"] == [Record("k", [1], 10), Record("k", [1, 2], 10)]


def test_directory_with_other_contents_is_refused_as_state_directory(runtime):
    runtime.produce(counting(), records(1))
    (runtime.directory / "state").mkdir()
    (runtime.directory / "state" / "thesis.tex").write_text("precious")
    with pytest.raises(hr.StateError, match="is not empty and has no state log"):
        run(runtime, counting())
    assert [path.name for path in (runtime.directory / "state").iterdir()] == ["thesis.tex"]


def test_lost_state_log_is_refused_instead_of_silently_starting_over(runtime):
    topology = counting()
    runtime.produce(topology, records(1))
    run(runtime, topology)
    (runtime.directory / "state" / "log").rename(runtime.directory / "elsewhere")
    with pytest.raises(hr.StateError, match="is not empty and has no state log: it is not the state directory of"):
        run(runtime, topology)
    (runtime.directory / "elsewhere").rename(runtime.directory / "state" / "log")
    runtime.produce(topology, records(2))
    run(runtime, topology)
    assert runtime.outputs(topology)["out"] == [Record("k", [1], 10), Record("k", [1, 2], 10)]


def test_application_continues_without_sparks_own_checkpoint(runtime):
    topology = counting()
    runtime.produce(topology, records(1))
    run(runtime, topology)
    shutil.rmtree(runtime.directory / "state" / "spark")
    runtime.produce(topology, records(2))
    run(runtime, topology)
    assert runtime.outputs(topology)["out"] == [Record("k", [1], 10), Record("k", [1, 2], 10)]


def test_lost_object_is_named_and_the_application_continues_once_it_is_restored(runtime):
    topology = counting()
    runtime.produce(topology, records(1))
    run(runtime, topology)
    (state,) = (runtime.directory / "state" / "state").iterdir()
    state.rename(runtime.directory / "elsewhere")
    runtime.produce(topology, records(2))
    with pytest.raises(
        hr.StateError, match=f"application 'test', task 0_0, head in '{state.name}': 'state/{state.name}' is missing"
    ):
        run(runtime, topology)
    (runtime.directory / "elsewhere").rename(state)
    run(runtime, topology)
    assert runtime.outputs(topology)["out"] == [Record("k", [1], 10), Record("k", [1, 2], 10)]


def changed(kind):
    builder = StreamsBuilder()
    stream = builder.stream("in")
    if kind == "store renamed":
        stream.group_by_key().aggregate(list, lambda k, v, s: s, store="other").to_stream().to("out")
    elif kind == "serde changed":
        stream.group_by_key().count(store="seen").to_stream().to("out")
    elif kind == "stage added":
        stream.group_by(lambda k, v: v).aggregate(list, lambda k, v, s: s, store="seen").to_stream().group_by(
            lambda k, v: k
        ).count(store="more").to_stream().to("out")
    elif kind == "stage removed":
        stream.to("out")
    return builder.build()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("store renamed", "store 'seen' was removed"),
        ("serde changed", "store 'seen' has the serdes ('String()', 'Long()'); it had ('String()', 'Json()')"),
        ("stage added", "store 'more' was added"),
        ("stage removed", "it has 0 stages; it had 1"),
    ],
)
def test_incompatible_topology_is_refused_before_the_query_starts(runtime, kind, said):
    runtime.produce(counting(), records(1))
    run(runtime, counting())
    with pytest.raises(hr.StateError) as refused:
        run(runtime, changed(kind))
    assert said in str(refused.value)
    runtime.produce(counting(), records(2))
    run(runtime, counting())
    assert runtime.outputs(counting())["out"] == [Record("k", [1], 10), Record("k", [1, 2], 10)]


def test_operator_whose_function_cannot_be_pickled_is_named(runtime):
    lock = threading.Lock()
    runtime.produce(counting(), records(1))
    with pytest.raises(hr.TopologyError, match="Operator 'transform' cannot be sent to Spark's workers"):
        run(runtime, counting(lambda value: (lock, value)))
    run(runtime, counting())
    assert runtime.outputs(counting())["out"] == [Record("k", [1], 10)]


def test_two_starts_at_once_let_only_the_newer_one_write(runtime):
    topology = counting()
    runtime.produce(topology, records(1))
    older = hr.Streams(topology, runtime.config(), spark=runtime.spark)
    older.start()
    wait_until_caught_up(older)
    newer = hr.Streams(topology, runtime.config(), spark=runtime.spark)
    application = newer._application
    start(application._graph, runtime.config(), "another run", application._parallelism)
    runtime.produce(topology, records(2))
    with pytest.raises(hr.StateError, match=r"was started again \(start 2; this is start 1\): .* ends without writing"):
        older.await_termination()
    newer.process_available()
    assert runtime.outputs(topology)["out"] == [Record("k", [1], 10), Record("k", [1, 2], 10)]
