"""Error handlers: only the failing record is lost; it is counted, logged, and a dead letter if configured."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

import headrace as hr
from headrace import Record, serdes
from headrace.testing import TopologyTestDriver

MS = timedelta(milliseconds=1)
HANDLERS = {name: f"{name}_exception_handler" for name in ("deserialization", "processing", "production")}
DEAD = {"dead_letter_topic": "dead"}


def handling(kind, handler):
    topic = {} if handler in ("fail", "continue") else DEAD
    return hr.StreamsConfig(application_id="t", **{HANDLERS[kind]: handler}, **topic)


def driver_of(topology, config, **more):
    return TopologyTestDriver(topology, config, **more)


def out_of(driver, topic="out"):
    return [(record.key, record.value, record.timestamp_ms) for record in driver.output_topic(topic).read_all()]


def headers_of(letter):
    """The headers that a dead letter adds to those of its record."""
    return {name.removeprefix("headrace.error."): value.decode() for name, value in letter.headers if "error." in name}


def checked(value):
    if value == "bad":
        message = "bad word"
        raise ValueError(message)
    return value


class Sentences(serdes.Serde[str]):
    """Text after the id of a schema; only schema 1 is known."""

    def _from_bytes(self, data):
        if data[:1] != b"1":
            message = f"schema {data[:1].decode()} does not exist"
            raise ValueError(message)
        return data[1:].decode()

    def _to_bytes(self, value):
        return b"1" + value.encode()


def reading(**serde):
    builder = hr.StreamsBuilder()
    builder.stream("in", name="reads", **serde).map_values(str, name="text").to("out")
    return builder.build()


VALID = (b"k", b"1", 5, ())
INVALID = {
    "undecodable key": ({}, (b"\xff", b"1", 6, ()), "undecodable key", "String() cannot deserialize 1 bytes"),
    "undecodable value": ({}, (b"k", b"{no json", 6, ()), "undecodable value", "Json() cannot deserialize 8 bytes"),
    "unknown schema": (
        {"value_serde": Sentences()},
        (b"k", b"2text", 6, ()),
        "undecodable value",
        "schema 2 does not exist",
    ),
    "10 MB value": ({}, (b"k", b"[" * 10_000_000, 6, ()), "undecodable value", "cannot deserialize 10000000 bytes"),
    "negative timestamp": ({}, (b"k", b"1", -7, ()), "negative timestamp", "the timestamp -7 is negative"),
}


def driver_with_invalid_record(name, handler):
    serde, invalid, _, _ = INVALID[name]
    driver = driver_of(reading(**serde), handling("deserialization", handler))
    topic = driver.input_topic("in", serdes.Bytes(), serdes.Bytes())
    return driver, topic, invalid


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_input_record_stops_the_application_by_default(name):
    driver, topic, invalid = driver_with_invalid_record(name, "fail")
    topic.pipe(*VALID)
    with pytest.raises(hr.ProcessingError) as refused:
        topic.pipe(*invalid)
    said = str(refused.value)
    assert said.startswith(f"reads failed on record in-0@1 (key {invalid[0]!r}, timestamp {invalid[2]}), task 0_0: ")
    assert INVALID[name][3] in said
    assert "dropped" not in driver.metrics()["reads"]


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_input_record_is_skipped_and_counted(name, caplog):
    driver, topic, invalid = driver_with_invalid_record(name, "continue")
    for record in (VALID, invalid, VALID):
        topic.pipe(*record)
    assert [value for _, value, _ in out_of(driver)] == ["1" if "schema" not in name else ""] * 2
    reason = INVALID[name][2]
    assert driver.metrics()["reads"] == {"records_in": 3, "dropped": {reason: 1}}
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert line.getMessage().startswith(f"Dropped ({reason}): reads failed on record in-0@1 (key ")


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_input_record_becomes_a_dead_letter(name):
    driver, topic, (key, value, timestamp_ms, _) = driver_with_invalid_record(name, "dead_letter")
    topic.pipe(*VALID)
    topic.pipe(key, value, timestamp_ms, [("mine", b"1"), ("none", None)])
    topic.pipe(*VALID)
    assert len(out_of(driver)) == 2
    (letter,) = driver.output_topic("dead").read_all()
    assert (letter.key, letter.value, letter.timestamp_ms) == (key, value, max(0, timestamp_ms))
    assert letter.headers[:2] == (("mine", b"1"), ("none", None))
    said = headers_of(letter)
    assert INVALID[name][3] in said.pop("message")
    assert INVALID[name][3] in said.pop("stacktrace")
    assert said.pop("exception") in ("headrace.errors.SerdeError", "headrace.errors.StreamsError")
    origin = {"operator": "reads", "topic": "in", "partition": "0", "offset": "1", "timestamp": str(timestamp_ms)}
    assert said == {"reason": INVALID[name][2], **origin}
    counted = driver.metrics()
    assert counted["reads"] == {"records_in": 3, "dropped": {INVALID[name][2]: 1}, "dead_letters": 1}
    assert counted["topic dead"] == {"records_out": 1}


def test_a_dead_letter_has_these_headers_in_this_order():
    driver, topic, invalid = driver_with_invalid_record("undecodable value", "dead_letter")
    topic.pipe(*invalid)
    (letter,) = driver.output_topic("dead").read_all()
    names = "reason operator topic partition offset timestamp exception message stacktrace"
    assert [name for name, _ in letter.headers] == [f"headrace.error.{name}" for name in names.split()]


def test_the_extractor_is_not_called_for_an_undecodable_record_and_partition_time_stays():
    calls = []

    def extractor(record, partition_time_ms):
        calls.append((record.value, partition_time_ms))
        return record.value

    topology = reading(timestamp_extractor=extractor)
    with driver_of(topology, handling("deserialization", "dead_letter")) as driver:
        topic = driver.input_topic("in", value_serde=serdes.Bytes())
        for value in (b"5", b"no", b"3"):
            topic.pipe("k", value, 900)
        assert out_of(driver) == [("k", "5", 5), ("k", "3", 3)]
        assert calls == [(5, -1), (3, 5)]
        assert [(r.value, r.timestamp_ms) for r in driver.output_topic("dead").read_all()] == [(b"no", 900)]


def test_a_negative_timestamp_goes_to_the_extractor_not_to_the_handler():
    topology = reading(timestamp_extractor=hr.log_and_skip_on_invalid_timestamp)
    with driver_of(topology, handling("deserialization", "dead_letter")) as driver:
        driver.input_topic("in").pipe("k", 1, -7)
        assert driver.metrics()["reads"]["dropped"] == {"negative timestamp": 1}
        assert driver.output_topic("dead").read_all() == []


@pytest.mark.parametrize("answer", [1.5, 1.0, float("nan"), "12", None])
def test_extractor_that_returns_no_whole_number_stops_the_application(answer):
    topology = reading(timestamp_extractor=lambda record, time: answer)
    with TopologyTestDriver(topology) as driver, pytest.raises(hr.ProcessingError) as stopped:
        driver.input_topic("in").pipe("a", 1, timestamp_ms=5)
    assert "reads failed on record in-0@0" in str(stopped.value)
    assert f"the timestamp extractor returned {answer!r}; a timestamp is a whole number of mill" in str(stopped.value)


@pytest.mark.parametrize("timestamp_ms", [1.5, "12"])
def test_driver_refuses_a_timestamp_that_is_no_whole_number(timestamp_ms):
    said = f"timestamp_ms is {timestamp_ms!r}; a timestamp is a whole number of milliseconds"
    with TopologyTestDriver(reading()) as driver, pytest.raises(hr.StreamsError, match=said):
        driver.input_topic("in").pipe("a", 1, timestamp_ms=timestamp_ms)


def test_extractor_that_fails_stops_the_application_whatever_the_handlers():
    settings = dict.fromkeys(HANDLERS.values(), "continue")
    topology = reading(timestamp_extractor=lambda record, time: 1 // 0)
    driver = driver_of(topology, hr.StreamsConfig(application_id="t", **settings))
    with pytest.raises(hr.ProcessingError, match="reads failed on record in-0@0"):
        driver.input_topic("in").pipe("k", 1, 1)


def sentences():
    """The example of the reference: one record is mapped to three, and the one in the middle fails."""
    builder = hr.StreamsBuilder()
    words = builder.stream("in", name="reads").flat_map_values(str.split, name="words")
    words.map_values(checked, name="check").to("out")
    words.to("all")
    return builder.build()


@pytest.mark.parametrize("handler", ["continue", "dead_letter"])
def test_only_the_record_forwarded_to_the_failing_operator_is_lost(handler):
    with driver_of(sentences(), handling("processing", handler)) as driver:
        driver.input_topic("in").pipe("k", "a bad c", 2)
        driver.input_topic("in").pipe("k", "bad", 3)
        assert out_of(driver) == [("k", "a", 2), ("k", "c", 2)]
        assert out_of(driver, "all") == [("k", "a", 2), ("k", "bad", 2), ("k", "c", 2), ("k", "bad", 3)]
        letters = {"dead_letters": 2} if handler == "dead_letter" else {}
        assert driver.metrics()["check"] == {"dropped": {"processing error": 2}, **letters}


def test_a_failing_record_stops_the_application_by_default_and_writes_nothing():
    with driver_of(sentences(), None) as driver:
        with pytest.raises(hr.ProcessingError, match=r"check failed on record in-0@0 .*: ValueError: bad word"):
            driver.input_topic("in").pipe("k", "a bad c", 2)
        assert (out_of(driver), out_of(driver, "all")) == ([], [])
        driver.input_topic("in").pipe("k", "d", 3)
        assert out_of(driver) == [("k", "d", 3)]


def test_the_dead_letter_of_a_failing_operator_is_the_input_record():
    with driver_of(sentences(), handling("processing", "dead_letter")) as driver:
        driver.input_topic("in").pipe("k", "a bad c", 2, [("mine", b"1")], partition=3)
        (letter,) = driver.output_topic("dead").read_all()
    assert (letter.key, letter.value, letter.timestamp_ms) == (b"k", b'"a bad c"', 2)
    assert letter.headers[0] == ("mine", b"1")
    said = headers_of(letter)
    assert said["stacktrace"].startswith("Traceback (most recent call last):")
    assert said.pop("stacktrace").endswith("ValueError: bad word\n")
    origin = {"operator": "check", "topic": "in", "partition": "3", "offset": "0", "timestamp": "2"}
    assert said == {"reason": "processing error", **origin, "exception": "ValueError", "message": "bad word"}


def test_a_dead_letter_after_a_repartition_is_what_the_sub_topology_read_with_the_offset_of_the_input_record():
    builder = hr.StreamsBuilder()
    rekeyed = builder.stream("in").map(lambda key, value: (value[-1], value.upper())).repartition("again")
    rekeyed.map_values(lambda value: checked(value.lower()), name="check").to("out")
    with driver_of(builder.build(), handling("processing", "dead_letter")) as driver:
        for value in ("ok", "bad"):
            driver.input_topic("in").pipe("k", value, 4)
        assert out_of(driver) == [("k", "ok", 4)]
        (letter,) = driver.output_topic("dead").read_all()
    said = headers_of(letter)
    assert (letter.key, letter.value) == (b"d", b'"BAD"')
    assert (said["topic"], said["offset"], said["operator"]) == ("in", "1", "check")


def test_a_dead_letter_has_the_timestamp_of_its_record_and_the_extracted_one_in_a_header():
    builder = hr.StreamsBuilder()
    stream = builder.stream("in", timestamp_extractor=lambda record, time: 77)
    stream.map_values(checked).to("out")
    with driver_of(builder.build(), handling("processing", "dead_letter")) as driver:
        driver.input_topic("in").pipe("k", "bad", 5)
        (letter,) = driver.output_topic("dead").read_all()
    assert (letter.timestamp_ms, headers_of(letter)["timestamp"]) == (5, "77")


def failing_on_request(value):
    return 10 // value


OPERATORS = {
    "filter": lambda stream: stream.filter(lambda key, value: failing_on_request(value), name="op").map_values(str),
    "map": lambda stream: stream.map(lambda key, value: (key, failing_on_request(value)), name="op"),
    "map without a pair": lambda stream: stream.map(lambda key, value: (key, 1) if value else None, name="op"),
    "flat_map": lambda stream: stream.flat_map(lambda key, value: [(key, failing_on_request(value))], name="op"),
    "select_key": lambda stream: stream.select_key(lambda key, value: str(failing_on_request(value)), name="op"),
    "peek": lambda stream: stream.peek(lambda key, value: failing_on_request(value), name="op"),
    "aggregate": lambda stream: (
        stream.group_by_key()
        .aggregate(lambda: 0, lambda key, value, total: failing_on_request(value), store="s", name="op")
        .to_stream()
    ),
    "windowed aggregate": lambda stream: (
        stream.group_by_key()
        .windowed_by(hr.TimeWindows.of(10 * MS))
        .aggregate(lambda: 0, lambda key, value, total: failing_on_request(value), store="s", name="op")
        .to_stream()
    ),
    "a value its store cannot keep": lambda stream: (
        stream.group_by_key()
        .aggregate(
            lambda: 0, lambda key, value, total: value or "text", store="s", value_serde=serdes.Long(), name="op"
        )
        .to_stream()
    ),
    "table map_values": lambda stream: stream.to_table().map_values(failing_on_request, name="op").to_stream(),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_with_a_user_function_can_fail_for_a_single_record(name):
    builder = hr.StreamsBuilder()
    OPERATORS[name](builder.stream("in")).to("out")
    with driver_of(builder.build(), handling("processing", "dead_letter")) as driver:
        for value in (1, 0, 2):
            driver.input_topic("in").pipe("k", value, value)
        assert len(out_of(driver)) == 2
        assert driver.metrics()["op"] == {"dropped": {"processing error": 1}, "dead_letters": 1}
        assert [letter.value for letter in driver.output_topic("dead").read_all()] == [b"0"]


def test_what_the_failing_operator_stored_before_it_failed_stays_and_others_are_not_affected():
    class Keeping(hr.Processor):
        def process(self, record):
            seen = self.context.state_store("seen")
            seen.put(record.key, record.value)
            self.context.forward(record)
            checked(record.value)

    def topology():
        builder = hr.StreamsBuilder()
        stream = builder.stream("in")
        store = hr.Stores.key_value("seen", key_serde=serdes.String(), value_serde=serdes.String())
        stream.process(Keeping, stores=[store], name="keeps").to("out")
        stream.group_by_key().count(store="counts").to_stream().to("counted")
        return builder.build()

    with driver_of(topology(), handling("processing", "continue")) as driver:
        driver.input_topic("in").pipe("k", "fine", 1)
        driver.input_topic("in").pipe("k", "bad", 2)
        driver.restart()
        assert (driver.store("seen").get("k"), driver.store("counts").get("k")) == ("bad", 2)
        driver.input_topic("in").pipe("k", "good", 3)
        assert out_of(driver) == [("k", "fine", 1), ("k", "bad", 2), ("k", "good", 3)]
        assert out_of(driver, "counted") == [("k", 1, 1), ("k", 2, 2), ("k", 3, 3)]
        assert driver.metrics()["keeps"] == {"dropped": {"processing error": 1}}


def test_an_aggregate_continues_from_before_the_failing_record():
    builder = hr.StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.reduce(lambda before, value: before + checked(value), store="all", name="joins").to_stream().to("out")
    with driver_of(builder.build(), handling("processing", "continue")) as driver:
        for at, value in enumerate(["a", "bad", "b"]):
            driver.input_topic("in").pipe("k", value, at)
        assert out_of(driver) == [("k", "a", 0), ("k", "ab", 2)]


def test_forward_returns_to_the_processor_if_a_child_fails():
    class Twice(hr.Processor):
        def process(self, record):
            self.context.forward(record, to=hr.To.child("check"))
            self.context.forward(record.with_value("after"), to=hr.To.child("check"))

    topology = hr.Topology()
    topology.add_source("reads", "in")
    topology.add_processor("twice", Twice, parents=["reads"])

    class Check(hr.Processor):
        def process(self, record):
            checked(record.value)
            self.context.forward(record)

    topology.add_processor("check", Check, parents=["twice"])
    topology.add_sink("writes", "out", parents=["check"])
    with driver_of(topology, handling("processing", "continue")) as driver:
        driver.input_topic("in").pipe("k", "bad", 2)
        assert out_of(driver) == [("k", "after", 2)]
        assert driver.metrics()["check"] == {"dropped": {"processing error": 1}}


class Ticking(hr.Processor):
    """Fires every 10 ms: the second time it raises, the third time its child does."""

    kind = hr.PunctuationType.STREAM_TIME

    def init(self, context):
        super().init(context)
        self.fired = 0
        context.schedule(10 * MS, self.kind, self.tick, time_shift=0 * MS)

    def process(self, record):
        pass

    def tick(self, timestamp_ms):
        self.fired += 1
        self.context.forward(Record("tick", f"{self.fired}"))
        if self.fired == 2:
            checked("bad")
        if self.fired == 3:
            self.context.forward(Record("tick", "bad"))
            self.context.forward(Record("tick", "after"))


class TickingByTheWall(Ticking):
    kind = hr.PunctuationType.WALL_CLOCK_TIME


@pytest.mark.parametrize("processor", [Ticking, TickingByTheWall])
def test_punctuation_that_fails_goes_to_the_processing_handler(processor):
    builder = hr.StreamsBuilder()
    builder.stream("in").process(processor, name="ticks").map_values(checked, name="check").to("out")
    with driver_of(builder.build(), handling("processing", "dead_letter")) as driver:
        for at in (0, 10, 20, 30):
            if at and processor is TickingByTheWall:
                driver.advance_wall_clock(10 * MS)
            driver.input_topic("in").pipe("k", "v", at)
        first = 10 if processor is TickingByTheWall else 0
        ticks = [
            ("tick", "1", first),
            ("tick", "2", first + 10),
            ("tick", "3", first + 20),
            ("tick", "after", first + 20),
        ]
        assert out_of(driver)[:4] == ticks
        by_callback, by_child = driver.output_topic("dead").read_all()
        counted = driver.metrics()
    assert (by_callback.key, by_callback.value, by_callback.timestamp_ms) == (None, None, first + 10)
    assert (by_child.key, by_child.value, by_child.timestamp_ms) == (None, None, first + 20)
    said = headers_of(by_callback)
    del said["stacktrace"]
    error = {"timestamp": str(first + 10), "exception": "ValueError", "message": "bad word"}
    assert said == {"reason": "punctuation error", "operator": "ticks", **error}
    assert headers_of(by_child)["operator"] == "check"
    assert counted["ticks"]["dropped"] == {"punctuation error": 1}
    assert counted["check"] == {"dropped": {"processing error": 1}, "dead_letters": 1}


def writing(name="writes", key_serde=None):
    builder = hr.StreamsBuilder()
    stream = builder.stream("in").flat_map_values(lambda values: values, name="each")
    stream.to("out", value_serde=serdes.Long(), key_serde=key_serde, name=name)
    stream.map_values(str).to("all")
    return builder.build()


def test_result_that_cannot_be_encoded_stops_the_application_by_default():
    with driver_of(writing(), None) as driver:
        with pytest.raises(hr.ProcessingError, match=r"writes failed on record in-0@0 .*Long\(\) cannot serialize 'x'"):
            driver.input_topic("in").pipe("k", [1, "x", 2], 7)
        assert out_of(driver) == []


@pytest.mark.parametrize("handler", ["continue", "dead_letter"])
def test_only_the_result_that_cannot_be_encoded_is_dropped(handler):
    with driver_of(writing(), handling("production", handler)) as driver:
        driver.input_topic("in").pipe("k", [1, "x", 2], 7)
        assert out_of(driver) == [("k", 1, 7), ("k", 2, 7)]
        assert [value for _, value, _ in out_of(driver, "all")] == ["1", "x", "2"]
        letters = {"dead_letters": 1} if handler == "dead_letter" else {}
        assert driver.metrics()["writes"] == {"dropped": {"unserializable value": 1}, **letters}
        if letters:
            (letter,) = driver.output_topic("dead").read_all()
            said = headers_of(letter)
            assert (letter.key, letter.value, letter.timestamp_ms) == (b"k", b'[1,"x",2]', 7)
            assert (said["operator"], said["reason"], said["offset"]) == ("writes", "unserializable value", "0")


def test_the_reason_distinguishes_a_key_from_a_value_that_cannot_be_encoded():
    with driver_of(writing(key_serde=serdes.Long()), handling("production", "continue")) as driver:
        driver.input_topic("in").pipe("k", [1, "x"], 7)
        assert driver.metrics()["writes"] == {"dropped": {"unserializable key": 2}}


def test_a_result_that_cannot_be_encoded_is_not_an_error_of_the_operator_before_the_sink():
    driver = driver_of(writing(), handling("processing", "continue"))
    with pytest.raises(hr.ProcessingError, match="writes failed on record in-0@0"):
        driver.input_topic("in").pipe("k", ["x"], 7)


def test_a_handler_decides_only_for_its_own_kind_of_error():
    builder = hr.StreamsBuilder()
    builder.stream("in").map_values(checked, name="check").to("out", value_serde=serdes.Long())
    config = hr.StreamsConfig(
        application_id="t",
        production_exception_handler="dead_letter",
        deserialization_exception_handler="continue",
        **DEAD,
    )
    with driver_of(builder.build(), config) as driver:
        topic = driver.input_topic("in", value_serde=serdes.Bytes())
        topic.pipe("k", b"{", 1)
        topic.pipe("k", b'"text"', 2)
        topic.pipe("k", b"5", 3)
        with pytest.raises(hr.ProcessingError, match="check failed on record in-0@3"):
            topic.pipe("k", b'"bad"', 4)
        assert out_of(driver) == [("k", 5, 3)]
        assert [letter.value for letter in driver.output_topic("dead").read_all()] == [b'"text"']


@pytest.mark.parametrize("answer", ["fail", "continue", "dead_letter"])
def test_a_handler_function_receives_the_whole_error_and_decides(answer):
    failures = []

    def decide(failed):
        failures.append(failed)
        return answer

    with driver_of(sentences(), handling("processing", decide)) as driver:
        topic = driver.input_topic("in")
        if answer == "fail":
            with pytest.raises(hr.ProcessingError, match=r"check failed on record in-0@0 .*bad word"):
                topic.pipe("k", "a bad c", 2, [("h", b"1")])
        else:
            topic.pipe("k", "a bad c", 2, [("h", b"1")])
        assert len(out_of(driver)) == (0 if answer == "fail" else 2)
        assert len(driver.output_topic("dead").read_all()) == (1 if answer == "dead_letter" else 0)
    (failed,) = failures
    assert isinstance(failed.exception, ValueError)
    described = {name: getattr(failed, name) for name in failed.__struct_fields__ if name != "exception"}
    assert described == {
        "kind": "processing",
        "reason": "processing error",
        "operator": "check",
        "task_id": "0_0",
        "topic": "in",
        "partition": 0,
        "offset": 0,
        "timestamp_ms": 2,
        "key": b"k",
        "value": b'"a bad c"',
        "headers": (("h", b"1"),),
        "record": hr.Record("k", "bad", 2, (("h", b"1"),)),
        "output_topic": None,
        "failed_part": None,
        "output_key": None,
        "output_value": None,
    }
    with pytest.raises(AttributeError):
        failed.reason = "another"


@pytest.mark.parametrize(("value", "part"), [("key", "key"), ("value", "value")])
def test_a_handler_sees_the_result_that_cannot_be_written_its_topic_and_which_part_failed(value, part):
    failures = []

    def decide(failed):
        failures.append((failed.operator, failed.output_topic, failed.failed_part, failed.record))
        return "continue"

    builder = hr.StreamsBuilder()
    stream = builder.stream("in").map(lambda _, value: (1, "v") if value == "key" else ("k", 1), name="wrong")
    stream.to("out", key_serde=serdes.String(), value_serde=serdes.String(), name="sink")
    with TopologyTestDriver(builder.build(), handling("production", decide)) as driver:
        driver.input_topic("in").pipe("k", value, 7)
    result = hr.Record(1, "v", 7) if value == "key" else hr.Record("k", 1, 7)
    assert failures == [("sink", "out", part, result)]


@pytest.mark.parametrize(("bad", "part"), [((b"\xff", b"1"), "key"), ((b"k", b"{"), "value")])
def test_a_handler_is_told_which_part_cannot_be_decoded(bad, part):
    parts = []

    def decide(failed):
        parts.append((failed.failed_part, failed.record))
        return "continue"

    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build(), handling("deserialization", decide)) as driver:
        driver.input_topic("in", serdes.Bytes(), serdes.Bytes()).pipe(*bad, 1)
    assert parts == [(part, None)]


def test_a_handler_may_write_dead_letters_of_its_own():
    def decide(failed):
        word = failed.record.value.encode()
        return [hr.Record(b"1", word), hr.Record(None, word, 99, (("why", b"bad"),))]

    with driver_of(sentences(), handling("processing", decide)) as driver:
        driver.input_topic("in").pipe("k", "a bad c", 2)
        assert driver.output_topic("dead").read_all() == [
            hr.Record(b"1", b"bad", 2),
            hr.Record(None, b"bad", 99, (("why", b"bad"),)),
        ]
        assert driver.metrics()["check"] == {"dead_letters": 2, "dropped": {"processing error": 1}}


def test_no_dead_letters_of_its_own_means_continue():
    with driver_of(sentences(), handling("processing", lambda _: [])) as driver:
        driver.input_topic("in").pipe("k", "a bad c", 2)
        assert driver.output_topic("dead").read_all() == []
        assert out_of(driver) == [("k", "a", 2), ("k", "c", 2)]


@pytest.mark.parametrize("answer", [[hr.Record("text", b"1")], ["dead_letter"], [b"bytes"]])
def test_dead_letters_of_its_own_must_be_serialized_records(answer):
    with (
        driver_of(sentences(), handling("processing", lambda _: answer)) as driver,
        pytest.raises(hr.ProcessingError, match="a list of records with serialized keys and values"),
    ):
        driver.input_topic("in").pipe("k", "bad", 2)


def test_the_log_has_the_first_dropped_records_of_a_batch_and_the_number_of_the_others(caplog):
    with driver_of(sentences(), handling("processing", "continue")) as driver:
        driver.input_topic("in").pipe("k", " ".join(["bad"] * 1_234), 2)
        driver.input_topic("in").pipe("k", "bad", 3)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 7
    assert all(line.startswith("Dropped (processing error): check failed on record in-0@0") for line in lines[:5])
    assert lines[5] == "Dropped (processing error): 1,229 more records at check"
    assert lines[6].startswith("Dropped (processing error): check failed on record in-0@1")


def test_handler_functions_also_decide_about_deserialization_and_production():
    failures = []

    def decide(failed):
        failures.append((failed.kind, failed.reason, failed.operator, failed.offset))
        return "continue"

    config = hr.StreamsConfig(
        application_id="t", deserialization_exception_handler=decide, production_exception_handler=decide
    )
    with driver_of(writing(), config) as driver:
        topic = driver.input_topic("in", value_serde=serdes.Bytes())
        topic.pipe("k", b"{", 1)
        topic.pipe("k", b'["x"]', 2)
    assert failures == [
        ("deserialization", "undecodable value", "KSTREAM-SOURCE-0000000000", 0),
        ("production", "unserializable value", "writes", 1),
    ]


WRONG = {
    "raises": (lambda failed: failed.nothing, r"(?s)processing_exception_handler failed: .* has no attribute .nothing"),
    "answers nothing": (lambda failed: None, "processing_exception_handler answered None; allowed: 'fail', 'continue'"),
    "answers something else": (lambda failed: "skip", "processing_exception_handler answered 'skip'; allowed: "),
    "has no topic": (lambda failed: "dead_letter", "answered 'dead_letter', but dead_letter_topic is not set"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_handler_function_that_raises_or_returns_something_else_stops_the_application(name):
    handler, said = WRONG[name]

    class Careless(hr.Processor):
        def process(self, record):
            try:
                self.context.forward(record)
            except Exception:
                self.context.forward(record.with_value("swallowed"))

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Careless).map_values(checked, name="check").to("out")
    config = hr.StreamsConfig(application_id="t", processing_exception_handler=handler)
    with driver_of(builder.build(), config) as driver:
        with pytest.raises(hr.ProcessingError, match=said) as refused:
            driver.input_topic("in").pipe("k", "bad", 2)
        assert "It was handling: check failed on record in-0@0 (key 'k', timestamp 2)" in str(refused.value)
        driver.input_topic("in").pipe("k", "fine", 3)
        assert out_of(driver) == [("k", "fine", 3)]


def test_an_error_of_state_stops_the_application_whatever_the_handler():
    class Lost(hr.Processor):
        def process(self, record):
            self.context.state_store("missing")

    builder = hr.StreamsBuilder()
    builder.stream("in").process(Lost, name="lost").to("out")
    driver = driver_of(builder.build(), handling("processing", "continue"))
    with pytest.raises(hr.ProcessingError, match=r"lost failed .*asks for the store 'missing'"):
        driver.input_topic("in").pipe("k", "v", 1)


def test_full_buffer_shuts_down_whatever_the_handler():
    builder = hr.StreamsBuilder()
    limits = hr.BufferConfig.max_records(1).shut_down_when_full()
    builder.table("in").suppress(hr.Suppressed.until_time_limit(100 * MS, buffer=limits)).to_stream().to("out")
    with driver_of(builder.build(), handling("processing", "continue")) as driver:
        driver.input_topic("in").pipe("a", 1, 1)
        with pytest.raises(hr.ProcessingError, match="its buffer allows 1 records"):
            driver.input_topic("in").pipe("b", 1, 1)


def test_an_undecodable_row_of_a_global_table_is_handled_once():
    builder = hr.StreamsBuilder()
    names = builder.global_table("names", store="names")
    for topic in ("in", "more"):
        builder.stream(topic).join(names, lambda left, right: [left, right], key_selector=lambda k, v: k).to(
            f"{topic}-out"
        )
    with driver_of(builder.build(), handling("deserialization", "dead_letter")) as driver:
        table = driver.input_topic("names", value_serde=serdes.Bytes())
        table.pipe("a", b'"x"', 1)
        table.pipe("a", b"{", 2)
        driver.input_topic("in").pipe("a", 1, 3)
        driver.input_topic("more").pipe("a", 2, 3)
        assert (out_of(driver, "in-out"), out_of(driver, "more-out")) == ([("a", [1, "x"], 3)], [("a", [2, "x"], 3)])
        (letter,) = driver.output_topic("dead").read_all()
        assert (letter.value, headers_of(letter)["topic"], headers_of(letter)["offset"]) == (b"{", "names", "1")


def test_a_join_that_fails_for_a_buffered_record_loses_only_that_record():
    builder = hr.StreamsBuilder()
    store = hr.Stores.versioned_key_value("rows", history=1000 * MS)
    rows = builder.table("rows", store=store)
    joined = builder.stream("in").join(rows, lambda value, row: [checked(value), row], grace=10 * MS, name="joins")
    joined.to("out")
    with driver_of(builder.build(), handling("processing", "continue")) as driver:
        driver.input_topic("rows").pipe("k", "row", 0)
        for at, value in enumerate(["a", "bad", "b", "c"], start=1):
            driver.input_topic("in").pipe("k", value, at)
        driver.input_topic("in").pipe("k", "d", 13)
        driver.input_topic("in").pipe("k", "e", 14)
        assert out_of(driver) == [("k", ["a", "row"], 1), ("k", ["b", "row"], 3), ("k", ["c", "row"], 4)]
        assert driver.metrics()["joins"] == {"dropped": {"processing error": 1}}
        (pending,) = driver.explain_pending()
        assert pending.waiting == 2


def test_the_dead_letter_topic_must_not_be_a_topic_of_the_topology_even_an_internal_one():
    builder = hr.StreamsBuilder()
    builder.stream("in").repartition("again").to("out")
    topology = builder.build()
    for topic in ("in", "out", "again-repartition"):
        config = hr.StreamsConfig(
            application_id="t", processing_exception_handler="dead_letter", dead_letter_topic=topic
        )
        with pytest.raises(hr.ConfigError, match=f"dead_letter_topic is '{topic}', which the topology reads or writes"):
            driver_of(topology, config)


class Unreachable(serdes.String):
    """Text whose schema is in a registry that does not respond."""

    def _from_bytes(self, data):
        message = "the registry does not answer"
        raise hr.RegistryError(message)

    deserialize_many = serdes.Serde.deserialize_many


@pytest.mark.parametrize("handler", ["continue", "dead_letter", lambda failed: "continue"])
def test_a_registry_that_does_not_respond_loses_no_record_whatever_the_handler(handler):
    with driver_of(reading(value_serde=Unreachable()), handling("deserialization", handler)) as driver:
        with pytest.raises(hr.ProcessingError, match="the registry does not answer"):
            driver.input_topic("in").pipe("k", "good", 1)
        assert out_of(driver) == []
        assert driver.metrics().get("reads", {}).get("dropped", {}) == {}
