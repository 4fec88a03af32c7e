"""Serdes whose format depends on the topic, or on the headers of a record."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace import Record, StreamsBuilder, serdes
from headrace.testing import TopologyTestDriver
from tests.support.plan_runner import PlanRunner


class ByTopic(serdes.Serde[str]):
    """Text behind the name of its topic and its part of the record; text alone in stores."""

    def __init__(self, prefix=""):
        self.prefix = prefix

    def _to_bytes(self, value):
        return f"{self.prefix}{value}".encode()

    def _from_bytes(self, data):
        text = data.decode()
        if not text.startswith(self.prefix):
            message = f"{text} does not begin with {self.prefix}"
            raise ValueError(message)
        return text.removeprefix(self.prefix)

    def for_topic(self, topic, part):
        return ByTopic(f"{topic}.{part}:")


class ByHeader(serdes.Serde[str]):
    """Text in the encoding that a header names; in UTF-8 without one, and in stores."""

    def __init__(self, encoding="utf-8"):
        self.encoding = encoding

    def _to_bytes(self, value):
        return value.encode()

    def _from_bytes(self, data):
        return data.decode()

    def serialize_with_headers(self, value, headers):
        others = tuple(pair for pair in headers if pair[0] != "encoding")
        return None if value is None else value.encode(self.encoding), (*others, encoded_in(self.encoding))

    def deserialize_with_headers(self, data, headers):
        return None if data is None else data.decode(dict(headers).get("encoding", b"utf-8").decode())


def encoded_in(encoding):
    return ("encoding", encoding.encode())


UTF_8, UTF_16 = encoded_in("utf-8"), encoded_in("utf-16")
TRACE = ("trace", b"1")


def raw(topology, inputs, topics=("out",)):
    """The bytes of the output topics, as the driver writes them."""
    with TopologyTestDriver(topology) as driver:
        for topic, key, value, timestamp_ms in inputs:
            driver.input_topic(topic).pipe(key, value, timestamp_ms)
        bytes_ = serdes.Bytes()
        return {topic: driver.output_topic(topic, key_serde=bytes_, value_serde=bytes_).read_all() for topic in topics}


def test_keys_and_values_are_read_and_written_in_the_format_of_their_topic(runtime):
    builder = StreamsBuilder()
    builder.stream("in", key_serde=ByTopic(), value_serde=ByTopic()).filter(lambda key, value: value != "y").to("out")
    inputs = [("in", "k", "x", 3), ("in", "k", "y", 4), ("in", None, "z", 5), ("in", "k", None, 6)]
    outputs, _ = runtime.run(builder.build(), inputs)
    assert outputs["out"] == [Record("k", "x", 3), Record(None, "z", 5), Record("k", None, 6)]
    assert raw(builder.build(), inputs)["out"] == [
        Record(b"out.key:k", b"out.value:x", 3),
        Record(None, b"out.value:z", 5),
        Record(b"out.key:k", None, 6),
    ]


def test_topics_of_one_source_have_formats_of_their_own(runtime):
    builder = StreamsBuilder()
    builder.stream(["one", "two"], value_serde=ByTopic()).to("out", value_serde=serdes.String())
    outputs, _ = runtime.run(builder.build(), [("one", "a", "x", 1), ("two", "b", "y", 2), ("one", "a", "z", 3)])
    assert sorted(outputs["out"], key=lambda record: record.timestamp_ms) == [
        Record("a", "x", 1),
        Record("b", "y", 2),
        Record("a", "z", 3),
    ]


def test_a_topic_that_a_function_chooses_has_its_own_format(runtime):
    builder = StreamsBuilder()
    builder.stream("in", value_serde=serdes.String()).to(lambda key, value, context: f"to-{key}", value_serde=ByTopic())
    inputs = [("in", "a", "x", 1), ("in", "b", "y", 2), ("in", "a", None, 3)]
    outputs, _ = runtime.run(builder.build(), inputs)
    assert outputs == {"to-a": [Record("a", "x", 1), Record("a", None, 3)], "to-b": [Record("b", "y", 2)]}
    assert raw(builder.build(), inputs, ["to-a", "to-b"]) == {
        "to-a": [Record(b"a", b"to-a.value:x", 1), Record(b"a", None, 3)],
        "to-b": [Record(b"b", b"to-b.value:y", 2)],
    }


def test_the_header_of_a_record_says_how_its_value_is_read_and_written(runtime):
    builder = StreamsBuilder()
    builder.stream("in", value_serde=ByHeader()).to("out", value_serde=ByHeader("utf-16"))
    outputs, _ = runtime.run(builder.build(), [("in", "a", "ä", 1, (TRACE,)), ("in", "b", None, 2)])
    assert outputs["out"] == [Record("a", "ä", 1, (TRACE, UTF_16)), Record("b", None, 2, (UTF_16,))]
    assert raw(builder.build(), [("in", "a", "ä", 1)])["out"] == [Record(b"a", "ä".encode("utf-16"), 1, (UTF_16,))]


def test_the_value_is_serialized_with_the_headers_that_the_key_returned(runtime):
    class Marked(serdes.String):
        def serialize_with_headers(self, value, headers):
            return self.serialize(value), (*headers, ("part", (value or "").encode()))

    builder = StreamsBuilder()
    builder.stream("in", value_serde=serdes.String()).to("out", key_serde=Marked(), value_serde=Marked())
    outputs, _ = runtime.run(builder.build(), [("in", "k", "v", 1, (TRACE,))])
    assert outputs["out"] == [Record("k", "v", 1, (TRACE, ("part", b"k"), ("part", b"v")))]


def test_a_store_has_no_headers_and_uses_the_plain_format(runtime):
    builder = StreamsBuilder()
    table = builder.table("rows", value_serde=ByHeader("utf-16"), store="rows")
    builder.stream("in").join(table, lambda value, row: f"{value}-{row}").to("out")
    outputs, _ = runtime.run(builder.build(), [("rows", "k", "ä", 1), ("in", "k", "x", 2), ("rows", "k", "ö", 3)])
    assert outputs["out"] == [Record("k", "x-ä", 2)]


def test_aggregates_behind_such_topics_are_right_in_batches(runtime):
    builder = StreamsBuilder()
    builder.stream(["one", "two"], value_serde=ByTopic()).group_by(lambda key, value: value).count().to_stream().to("n")
    inputs = [("one", "a", "x", 1), ("two", "b", "x", 2), ("one", "c", "y", 3), ("two", "d", "x", 1)]
    outputs, _ = runtime.run(builder.build(), inputs)
    assert sorted(outputs["n"], key=lambda record: (record.key, record.value)) == [
        Record("x", 1, 1),
        Record("x", 2, 2),
        Record("x", 3, 2),
        Record("y", 1, 3),
    ]


def test_a_record_that_its_header_makes_unreadable_is_counted_and_skipped(tmp_path):
    builder = StreamsBuilder()
    builder.stream("in", value_serde=ByHeader()).to("out", value_serde=serdes.String())
    config = hr.StreamsConfig(
        application_id="test",
        topics_dir=tmp_path / "topics",
        state_dir=tmp_path / "state",
        deserialization_exception_handler="continue",
    )
    topics = hr.LocalTopics(tmp_path / "topics")
    topics.create("in", partitions=1)
    ascii_header = (encoded_in("ascii"),)
    records = [Record("a", "x", 1), Record("b", "ä", 2, ascii_header), Record("c", "z", 3, ascii_header)]
    topics.produce("in", records, value_serde=serdes.String())
    runner = PlanRunner(builder.build(), tmp_path, config=config)
    while runner.run_batch(limit=100):
        pass
    assert topics.read("out", value_serde=serdes.String()) == [Record("a", "x", 1), Record("c", "z", 3, ascii_header)]
    assert runner.metrics()["KSTREAM-SOURCE-0000000000"] == {"dropped": {"undecodable value": 1}, "records_in": 3}


def test_a_value_that_a_topic_cannot_take_is_an_error_of_its_sink():
    class Short(serdes.String):
        def serialize_with_headers(self, value, headers):
            if len(value) > 3:
                message = f"{value!r} is longer than 3"
                raise hr.SerdeError(message)
            return self.serialize(value), headers

    builder = StreamsBuilder()
    builder.stream("in", value_serde=serdes.String()).to("out", value_serde=Short())
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(hr.ProcessingError) as failed:
        driver.input_topic("in").pipe("k", "long text", timestamp_ms=1)
    assert str(failed.value).startswith(
        "KSTREAM-SINK-0000000001 failed on record in-0@0 (key 'k', timestamp 1), task 0_0: the value for topic 'out': "
        "'long text' is longer than 3. Give the sink another serde: to('out', value_serde=...)"
    )


def test_embedded_topics_are_produced_and_read_in_the_format_of_the_topic(tmp_path):
    topics = hr.LocalTopics(tmp_path)
    topics.create("t", partitions=1)
    records = [Record("k", "v", 1), Record(None, None, 2)]
    topics.produce("t", records, key_serde=ByTopic(), value_serde=ByTopic())
    assert topics.read("t", key_serde=ByTopic(), value_serde=ByTopic()) == records
    assert topics.read("t", value_serde=serdes.String()) == [Record("t.key:k", "t.value:v", 1), Record(None, None, 2)]
    topics.create("h", partitions=1)
    topics.produce("h", records, value_serde=ByHeader("utf-16"))
    assert topics.read("h", value_serde=ByHeader()) == [
        Record("k", "v", 1, (UTF_16,)),
        Record(None, None, 2, (UTF_16,)),
    ]
