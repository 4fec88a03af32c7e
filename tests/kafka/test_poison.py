"""Poison records in Kafka input and output: they fail, are dropped or become dead letters; no other record is lost."""

from __future__ import annotations

import struct
import time

import pytest

import headrace as hr
from headrace import serdes
from tests.support import raw_kafka
from tests.support.registry import LocalRegistry

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

BYTES = (serdes.Bytes(), serdes.Bytes())
TEXT = {"value_serde": serdes.String()}
HUGE = 10_000_000
FIELDS = [{"name": "text", "type": "string"}]
SCHEMA = {"type": "record", "name": "Said", "fields": FIELDS}
NEWER = {**SCHEMA, "fields": [*FIELDS, {"name": "note", "type": "string", "default": ""}]}


@pytest.fixture
def registry():
    with LocalRegistry() as started:
        yield started


@pytest.fixture
def make(topics):
    """Creates topics of one partition with their own settings."""

    def created(name, **settings):
        topics._cluster.create({name: 1}, {setting.replace("_", "."): str(to) for setting, to in settings.items()})

    return created


def produce(topics, topic, records):
    """Produces bytes with the Kafka client, which accepts negative timestamps but not 0."""
    producer = topics._cluster.producer()
    for key, value, timestamp_ms in records:
        producer.produce(topic, value, key, 0, timestamp=timestamp_ms, headers=[("mine", b"1")])
    assert not producer.flush(60)


def of_each_key(topics, topic, value_serde):
    found = {}
    for record in topics.read(topic, None, value_serde):
        found.setdefault(record.key, []).append((record.value, record.timestamp_ms))
    return found


def letters(topics, *wanted):
    """Key, value and timestamp of the dead letters, with the headers in `wanted`."""
    found = []
    for letter in topics.read("dead", *BYTES):
        headers = {name.removeprefix("headrace.error."): value.decode() for name, value in letter.headers}
        found.append((letter.key, letter.value, letter.timestamp_ms, *(headers.get(name) for name in wanted)))
    return found


def said(registry, schema=SCHEMA):
    return serdes.Avro(schema, registry=serdes.Registry(registry.url))


def measuring(registry):
    """Copies a field of the records of two topics, and its length."""
    builder = hr.StreamsBuilder()
    for topic in ("skipped", "kept"):
        stream = builder.stream(topic, value_serde=said(registry), name=f"reads-{topic}")
        texts = stream.map_values(lambda value: value["text"])
        texts.map_values(len).to("lengths", value_serde=serdes.Long())
        texts.to("texts", **TEXT)
    return builder.build()


def poisonous(tea):
    """Records that cannot be decoded, each with the reason for dropping it and the text of its error."""
    return {
        (b"\xff", tea, 2): ("undecodable key", "String() cannot deserialize 1 bytes"),
        (b"k", b"no avro", 3): ("undecodable value", "this begins with 110"),
        (b"k", struct.pack(">bI", 0, 999) + tea[5:], 4): ("undecodable value", "written with schema 999, which"),
        (b"k", b"[" * HUGE, 5): ("undecodable value", "cannot deserialize 10000000 bytes"),
        (b"k", tea, -7): ("negative timestamp", "the timestamp -7 is negative"),
        (b"k", tea, -1): ("negative timestamp", "the timestamp -1 is negative"),
    }


def decide(failed):
    return "continue" if failed.topic == "skipped" else "dead_letter"


def test_poison_stops_the_application_or_is_dropped_or_becomes_a_dead_letter_by_handler(
    topics, make, config, spark, registry
):
    for topic in ("skipped", "kept", "texts"):
        make(topic, max_message_bytes=2 * HUGE)
    tea, large = (said(registry).serialize({"text": text}) for text in ("tea", "x" * HUGE))
    unregistered = struct.pack(">bI", 0, 2) + tea[5:] + b"\0"
    poison = {record: reason for record, (reason, _) in poisonous(tea).items()}
    produce(topics, "kept", [(b"k", tea, 1), (b"k", unregistered, 1), *poison, (b"k", large, 6), (b"k", tea, 7)])

    with pytest.raises(hr.ProcessingError) as refused:
        hr.Streams(measuring(registry), config(), spark=spark).process_available()
    assert str(refused.value).startswith("reads-kept failed on record kept-0@1 (key b'k', timestamp 1), task ")
    assert "written with schema 2, which" in str(refused.value)
    assert (topics.read("texts"), topics.read("lengths")) == ([], [])

    said(registry, NEWER).serialize({"text": "", "note": ""})
    produce(topics, "skipped", [*poison, (b"s", large, 6)])
    handling = config(deserialization_exception_handler=decide, dead_letter_topic="dead")
    app = hr.Streams(measuring(registry), handling, spark=spark)
    app.process_available()
    assert of_each_key(topics, "lengths", serdes.Long()) == {"k": [(3, 1), (3, 1), (HUGE, 6), (3, 7)], "s": [(HUGE, 6)]}
    texts = of_each_key(topics, "texts", serdes.String())
    assert texts == {"k": [("tea", 1), ("tea", 1), ("x" * HUGE, 6), ("tea", 7)], "s": [("x" * HUGE, 6)]}
    wanted = ("mine", "reason", "operator", "topic", "partition", "offset", "timestamp")
    assert letters(topics, *wanted) == [
        (key, value, max(1, at_ms), "1", reason, "reads-kept", "kept", "0", str(2 + number), str(at_ms))
        for number, ((key, value, at_ms), reason) in enumerate(poison.items())
    ]
    assert all(stack.startswith("Traceback") or "negative" in stack for *_, stack in letters(topics, "stacktrace"))
    dropped = {"undecodable key": 1, "undecodable value": 3, "negative timestamp": 2}
    assert app.metrics()["reads-kept"] == {"records_in": 10, "dropped": dropped, "dead_letters": 6}
    assert app.metrics()["reads-skipped"] == {"records_in": 7, "dropped": dropped}


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_each_poison_stops_the_application_which_then_continues_without_it(
    topics, make, config, spark, registry, number
):
    for topic in ("skipped", "kept"):
        make(topic, max_message_bytes=2 * HUGE)
    tea = said(registry).serialize({"text": "tea"})
    (key, value, timestamp_ms), (reason, problem) = list(poisonous(tea).items())[number]
    produce(topics, "kept", [(b"k", tea, 1), (key, value, timestamp_ms), (b"k", tea, 9)])
    for _ in range(2):
        with pytest.raises(hr.ProcessingError) as refused:
            hr.Streams(measuring(registry), config(), spark=spark).process_available()
        expected = f"reads-kept failed on record kept-0@1 (key {key!r}, timestamp {timestamp_ms}), task "
        assert str(refused.value).startswith(expected)
        assert problem in str(refused.value)
        assert topics.read("texts") == []
    app = hr.Streams(measuring(registry), config(deserialization_exception_handler="continue"), spark=spark)
    app.process_available()
    assert of_each_key(topics, "texts", serdes.String()) == {"k": [("tea", 1), ("tea", 9)]}
    assert app.metrics()["reads-kept"] == {"records_in": 3, "dropped": {reason: 1}}


def copying():
    builder = hr.StreamsBuilder()
    stream = builder.stream("in", **TEXT, name="reads")
    stream.to("copies", **TEXT, name="copies")
    stream.filter(lambda key, value: value == "ink", name="ink").select_key(lambda key, value: None).to(
        "latest", **TEXT, name="latest"
    )
    stream.map_values(len).to("lengths", value_serde=serdes.Long(), name="measures")
    return builder.build()


TOO_LARGE = (
    "copies failed on record in-0@1 (key b'k', timestamp 2), task 0_0: A record for topic 'copies' (key b'k') has "
    "10,000,082 bytes, and the topic accepts up to 1,048,588. Raise the topic's max.message.bytes, or write smaller "
    "records.\nproduction_exception_handler='continue' or 'dead_letter' drops such records."
)


@pytest.mark.parametrize("guarantee", ["exactly_once_v2", pytest.param("at_least_once", marks=pytest.mark.slow)])
def test_result_that_its_topic_rejects_is_named_then_dropped_and_all_others_are_written(
    topics, broker, make, config, spark, guarantee
):
    make("in", max_message_bytes=2 * HUGE, message_timestamp_after_max_ms=10**15)
    for topic in ("copies", "dead"):
        make(topic)
    make("latest", cleanup_policy="compact")
    future_ms = time.time_ns() // 1_000_000 + 10**10
    large = b"x" * HUGE
    produce(topics, "in", [(b"k", b"tea", 1), (b"k", large, 2), (b"k", b"ink", 3)])
    raw_kafka.append(broker, "in", 0, [(b"k", b"zero", 0)])
    produce(topics, "in", [(b"k", b"soon", future_ms), (b"k", b"end", 4)])

    if guarantee == "exactly_once_v2":
        with pytest.raises(hr.ProcessingError) as refused:
            hr.Streams(copying(), config(), spark=spark).process_available()
        assert str(refused.value) == TOO_LARGE
        assert [topics.read(topic) for topic in ("copies", "latest", "lengths")] == [[], [], []]

    def decide(failed):
        return "continue" if failed.value == b"soon" else "dead_letter"

    handling = config(production_exception_handler=decide, dead_letter_topic="dead", processing_guarantee=guarantee)
    app = hr.Streams(copying(), handling, spark=spark)
    app.process_available()
    assert of_each_key(topics, "copies", serdes.String()) == {"k": [("tea", 1), ("ink", 3), ("end", 4)]}
    assert of_each_key(topics, "latest", serdes.String()) == {}
    assert of_each_key(topics, "lengths", serdes.Long()) == {"k": [(3, 1), (HUGE, 2), (3, 3), (3, 4)]}
    wanted = ("mine", "reason", "operator", "topic", "partition", "offset", "timestamp", "value_bytes")
    cut, *whole = sorted(letters(topics, *wanted), key=lambda letter: -len(letter[1]))
    assert (cut[0], cut[1], cut[2]) == (b"k", large[: len(cut[1])], 2)
    assert cut[3:] == ("1", "record too large", "copies", "in", "0", "1", "2", str(HUGE))
    assert 1_000_000 < len(cut[1]) < 1_048_588
    assert sorted(whole) == [
        (b"k", b"ink", 3, "1", "key missing", "latest", "in", "0", "2", "3", None),
        (b"k", b"zero", 1, None, "timestamp out of range", "copies", "in", "0", "3", "0", None),
        (b"k", b"zero", 1, None, "timestamp out of range", "measures", "in", "0", "3", "0", None),
    ]
    counted = app.metrics()
    assert counted["copies"] == {"dropped": {"record too large": 1, "timestamp out of range": 2}, "dead_letters": 2}
    assert (counted["topic copies"], counted["topic dead"]) == ({"records_out": 3}, {"records_out": 4})
