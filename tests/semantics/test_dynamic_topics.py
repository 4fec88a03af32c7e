"""Output topics that a function chooses record by record."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace import ProcessingError, Record, StreamsBuilder, serdes
from headrace.testing import TopologyTestDriver
from headrace.topics.embedded.log import TopicLog
from tests.support.plan_runner import PlanRunner

HEADERS = (("h", b"1"),)


def by_value(key, value, context):
    return f"to-{value}"


def test_each_record_goes_to_the_topic_that_the_function_returns(runtime):
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.to(by_value)
    stream.filter(lambda key, value: value == "y").to("static")
    outputs, metrics = runtime.run(
        builder.build(),
        [("in", "a", "x", 10, HEADERS), ("in", None, "y", 5), ("in", "b", "x", 7), ("in", "c", None, 8)],
    )
    assert outputs == {
        "static": [Record(None, "y", 5)],
        "to-x": [Record("a", "x", 10, HEADERS), Record("b", "x", 7)],
        "to-y": [Record(None, "y", 5)],
        "to-None": [Record("c", None, 8)],
    }
    assert metrics["topic to-x"]["records_out"] == 2


def test_the_function_sees_origin_timestamp_and_headers_of_the_record(runtime):
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count().to_stream().to(
        lambda key, count, context: ".".join(
            map(str, (key, count, *context[:4], *(name for name, _ in context.headers)))
        )
    )
    outputs, _ = runtime.run(builder.build(), [("in", "a", "x", 10, HEADERS), ("in", "a", "y", 5)])
    assert sorted(outputs) == ["a.1.in.0.0.10.h", "a.2.in.0.1.10"]


def test_a_static_and_a_dynamic_sink_may_share_a_topic(runtime):
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.flat_map_values(lambda value: [value, value.upper()]).to(lambda key, value, context: "out")
    stream.to("out")
    outputs, _ = runtime.run(builder.build(), [("in", "a", "x", 1), ("in", "b", "y", 2)])
    assert [record.value for record in outputs["out"]] == ["x", "X", "x", "y", "Y", "y"]


def test_a_topic_that_the_application_reads_is_input_again(runtime):
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: value - 1).to(lambda key, value, context: "in" if value else "done")
    outputs, _ = runtime.run(builder.build(), [("in", "a", 3, 1)])
    assert outputs["done"] == [Record("a", 0, 1)]


def test_processors_forward_to_a_sink_with_a_function(runtime):
    class Twice(hr.Processor):
        def process(self, record):
            self.context.forward(record.with_value(record.value * 2), to=hr.To.child("sink"))

    topology = hr.Topology().add_source("source", "in").add_processor("twice", Twice, parents="source")
    topology.add_sink("sink", by_value, parents="twice", value_serde=serdes.String())
    outputs, _ = runtime.run(topology, [("in", "a", "x", 10)])
    assert outputs == {"to-xx": [Record("a", "xx", 10)]}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, r"returned None of type NoneType; it must be str"),
        ("a b", r"returned 'a b', which is not a topic name"),
        ("by-key-repartition", r"'by-key-repartition', an internal topic of this topology"),
        ("letters", r"'letters', the dead_letter_topic"),
        ("test-headrace-commits", r"a topic for internal use"),
        ("__consumer_offsets", r"a topic for internal use"),
    ],
)
def test_a_topic_that_is_not_allowed_is_a_production_error(answer, message, tmp_path):
    builder = StreamsBuilder()
    builder.stream("in").repartition("by-key").to(lambda key, value, context: answer, name="choosing")
    topology = builder.build()
    settings = {"dead_letter_topic": "letters", "deserialization_exception_handler": "dead_letter"}
    with (
        TopologyTestDriver(topology, hr.StreamsConfig(application_id="test", **settings)) as driver,
        pytest.raises(ProcessingError, match=rf"choosing failed on record in-0@0 \(key 'a'.*{message}"),
    ):
        driver.input_topic("in").pipe("a", "x", 10)
    hr.LocalTopics(tmp_path / "topics").create("in", partitions=1)
    hr.LocalTopics(tmp_path / "topics").produce("in", [Record("a", "x", 10)])
    runner = PlanRunner(topology, tmp_path, config=hr.StreamsConfig(application_id="test", **settings))
    with pytest.raises(ProcessingError, match=rf"choosing failed on record in-0@0 \(key 'a'.*{message}"):
        runner.run_batch(10)


def test_handlers_of_production_errors_see_failed_functions(runtime):
    builder = StreamsBuilder()
    builder.stream("in").to(lambda key, value, context: {"x": "to-x", "y": 7}[value], name="choosing")
    settings = {"production_exception_handler": "dead_letter", "dead_letter_topic": "letters"}
    outputs, metrics = runtime.run(
        builder.build(), [("in", "a", "x", 10), ("in", "b", "y", 11), ("in", "c", "z", 12)], config=settings
    )
    assert outputs["to-x"] == [Record("a", "x", 10)]
    assert metrics["choosing"]["dropped"] == {"routing error": 2}
    assert metrics["topic letters"]["records_out"] == 2


def test_missing_topics_are_refused_if_configured(tmp_path):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=2)
    topics.create("to-x", partitions=3)
    topics.produce("in", [Record("a", "x", 10), Record("b", "y", 11)])
    builder = StreamsBuilder()
    builder.stream("in").to(by_value, name="choosing")
    settings = {"dynamic_topics": "refuse", "production_exception_handler": "continue"}
    runner = PlanRunner(builder.build(), tmp_path, config=hr.StreamsConfig(application_id="test", **settings))
    while runner.run_batch(10):
        pass
    assert topics.read("to-x") == [Record("a", "x", 10)]
    assert "to-y" not in topics.list()
    assert runner.metrics()["choosing"]["dropped"] == {"routing error": 1}


def test_the_error_for_a_missing_topic_says_what_to_do(tmp_path):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=1)
    topics.produce("in", [Record("a", "x", 10)])
    builder = StreamsBuilder()
    builder.stream("in").to(by_value)
    config = hr.StreamsConfig(application_id="test", dynamic_topics="refuse")
    with pytest.raises(ProcessingError, match=r"'to-x', which does not exist, and dynamic_topics='refuse'"):
        PlanRunner(builder.build(), tmp_path, config=config).run_batch(10)
    with pytest.raises(hr.ConfigError, match="dynamic_topics is 'maybe'; allowed: 'create', 'refuse'"):
        hr.StreamsConfig(application_id="test", dynamic_topics="maybe")


def test_new_topics_have_as_many_partitions_as_tasks_write_to_them(tmp_path):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=3)
    topics.produce("in", [Record(str(number), f"t{number % 2}", number) for number in range(50)])
    builder = StreamsBuilder()
    builder.stream("in").to(by_value)
    runner = PlanRunner(builder.build(), tmp_path)
    while runner.run_batch(7):
        pass
    for topic in ("to-t0", "to-t1"):
        assert topics.describe(topic).partitions == 3
        kept = {p: [key for key, _, _ in rows] for p, rows in runner.output(topic).items()}
        original = {
            p: [key for key, value, _ in rows if f'"{topic[3:]}"'.encode() == value]
            for p, rows in runner.output("in").items()
        }
        assert kept == original


@pytest.mark.parametrize("fail", ["before", "after"])
def test_records_of_a_killed_batch_are_in_their_topics_once(fail, tmp_path):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=2)
    records = [Record(str(number), f"t{number % 5}", number) for number in range(60)]
    topics.produce("in", records)
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().reduce(lambda old, new: new).to_stream().to(by_value)
    runner = PlanRunner(builder.build(), tmp_path)
    number = 0
    while runner.run_batch(7, fail=fail if number % 2 else None):
        number += 1
        assert number < 50
    for suffix in range(5):
        found = sorted(topics.read(f"to-t{suffix}"), key=lambda record: record.timestamp_ms)
        assert found == [record for record in records if record.value == f"t{suffix}"]


def test_describe_names_the_function_of_a_sink():
    builder = StreamsBuilder()
    builder.stream("in").to(by_value)
    assert "Sink: KSTREAM-SINK-0000000001 (extractor class: by_value)\n" in builder.build().describe()
    assert "KSTREAM-SINK-0000000001" in builder.build().to_mermaid()


def test_the_driver_asks_for_serdes_if_sinks_with_different_ones_may_write_a_topic():
    builder = StreamsBuilder()
    stream = builder.stream("in")
    stream.to(by_value)
    stream.to(by_value, value_serde=serdes.String())
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("a", "x", 1)
        with pytest.raises(hr.TopicError, match=r"Sinks with different serdes may write to topic 'to-x'.*value_serde="):
            driver.output_topic("to-x")
        values = driver.output_topic("to-x", value_serde=serdes.String()).read_all()
    assert [record.value for record in values] == ['"x"', "x"]


def test_no_handler_drops_a_record_because_its_topic_cannot_be_created(tmp_path, monkeypatch):
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=1)
    topics.produce("in", [Record("a", "x", 10)])
    builder = StreamsBuilder()
    builder.stream("in").to(by_value)
    config = hr.StreamsConfig(application_id="test", production_exception_handler="continue")
    runner = PlanRunner(builder.build(), tmp_path, config=config)

    def ensure(log, topic, partitions):
        raise hr.TopicError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(TopicLog, "ensure", ensure)
        with pytest.raises(ProcessingError, match=r"Cannot open the output topic 'to-x', .*: the disk is full"):
            runner.run_batch(10)
    runner.restart()
    assert runner.run_batch(10)
    assert topics.read("to-x") == [Record("a", "x", 10)]
