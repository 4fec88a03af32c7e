"""Poison records and failing functions on Spark: the application continues, and no failed record is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, serdes
from tests.support.raw_topics import append
from tests.support.runtimes import SparkRuntime

pytestmark = pytest.mark.spark

MS = timedelta(milliseconds=1)


def checked(value):
    if value == "bad":
        message = "bad word"
        raise ValueError(message)
    return value


def counting():
    """An inline stage that can fail, a stage of counts after it, and a third stage that processes columns."""
    builder = hr.StreamsBuilder()
    words = builder.stream("in", name="reads").flat_map_values(str.split, name="words")
    words.map_values(checked, name="check").to("out", value_serde=serdes.String(), name="writes")
    words.group_by(lambda key, value: value, key_serde=serdes.String()).count(store="counts").to_stream().to("counts")
    keys = builder.stream("keys", key_serde=serdes.String(), value_serde=serdes.String(), name="columns")
    keys.group_by_key().count(store="by-key").to_stream().to("by-key-counts")
    return builder.build()


HUGE = b"[" * 10_000_000
POISON = [
    (b"\xff", b'"key"', 2, 0),
    (b"k", b"{no json", 3, 0),
    (b"k", HUGE, 4, 0),
    (b"k", b'"early"', -5, 0),
]
SOUND = [(b"k", b'"a bad c"', 1, 0), *POISON, (b"k", b'"a"', 6, 0)]


@pytest.fixture
def runtime(spark, tmp_path):
    runtime = SparkRuntime(spark, tmp_path)
    for topic in ("in", "keys"):
        runtime.topics.create(topic, partitions=1)
    append(tmp_path / "topics", "in", SOUND)
    append(tmp_path / "topics", "keys", [(b"k", b"v", 1, 0), (b"k", b"v", 2, 0)])
    append(tmp_path / "topics", "keys", [(b"k", b"\xff", 3, 0), (b"k", b"v", 4, 0)])
    return runtime


def run(runtime, **settings):
    app = hr.Streams(counting(), runtime.config(**settings), spark=runtime.spark)
    app.process_available()
    return app


def read(runtime, topic, value_serde):
    return [(record.key, record.value, record.timestamp_ms) for record in runtime.topics.read(topic, None, value_serde)]


def test_poison_stops_the_application_or_is_dropped_or_becomes_a_dead_letter_by_handler(runtime):
    with pytest.raises(hr.ProcessingError, match=r"(?s)failed on record in-0@.*drops such records"):
        run(runtime, processing_exception_handler="continue")
    with pytest.raises(hr.ProcessingError, match=r"check failed on record in-0@0 .*bad word"):
        run(runtime, deserialization_exception_handler="continue")

    def decide(failed):
        return "dead_letter" if failed.kind == "deserialization" else "continue"

    app = run(
        runtime,
        deserialization_exception_handler="dead_letter",
        processing_exception_handler=decide,
        dead_letter_topic="dead",
    )
    assert read(runtime, "out", serdes.String()) == [("k", "a", 1), ("k", "c", 1), ("k", "a", 6)]
    assert read(runtime, "counts", serdes.Long()) == [("a", 1, 1), ("bad", 1, 1), ("c", 1, 1), ("a", 2, 6)]
    assert read(runtime, "by-key-counts", serdes.Long()) == [("k", 1, 1), ("k", 2, 2), ("k", 3, 4)]
    letters = runtime.topics.read("dead", serdes.Bytes(), serdes.Bytes())
    assert sorted((letter.key, letter.value, letter.timestamp_ms) for letter in letters) == sorted(
        [(key, value, max(0, at)) for key, value, at, _ in POISON] + [(b"k", b"\xff", 3)]
    )
    metrics = app.metrics()
    reasons = {"undecodable key": 1, "undecodable value": 2, "negative timestamp": 1}
    assert metrics["reads"] == {"records_in": 6, "dropped": reasons, "dead_letters": 4}
    assert metrics["columns"] == {"records_in": 4, "dropped": {"undecodable value": 1}, "dead_letters": 1}
    assert metrics["check"] == {"dropped": {"processing error": 1}}

    append(runtime.directory / "topics", "in", [(b"k", b'"d"', 7, 0)])
    run(runtime)
    assert read(runtime, "out", serdes.String())[-1] == ("k", "d", 7)


def test_results_that_cannot_be_encoded_and_punctuations_that_fail_become_dead_letters(spark, tmp_path):
    class Ticking(hr.Processor):
        def init(self, context):
            super().init(context)
            context.schedule(10 * MS, hr.PunctuationType.STREAM_TIME, self.tick, time_shift=0 * MS)

        def process(self, record):
            self.context.forward(record)

        def tick(self, timestamp_ms):
            message = f"tick {timestamp_ms}"
            raise ValueError(message)

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Ticking, name="ticks").to("out", value_serde=serdes.Long(), name="writes")
    topology = builder.build()
    runtime = SparkRuntime(spark, tmp_path)
    settings = {
        "production_exception_handler": "dead_letter",
        "processing_exception_handler": "dead_letter",
        "dead_letter_topic": "dead",
    }
    outputs, metrics = runtime.run(
        topology, [("in", "k", 1, 5), ("in", "k", "x", 6), ("in", "k", 2, 10)], config=settings
    )
    assert outputs["out"] == [Record("k", 1, 5), Record("k", 2, 10)]
    letters = runtime.topics.read("dead", serdes.Bytes(), serdes.Bytes())
    found = [(r.key, r.value, r.timestamp_ms, dict(r.headers)["headrace.error.operator"]) for r in letters]
    assert found == [(b"k", b'"x"', 6, b"writes"), (None, None, 10, b"ticks")]
    assert metrics["ticks"]["dropped"] == {"punctuation error": 1}
    assert metrics["writes"] == {"dropped": {"unserializable value": 1}, "dead_letters": 1}
