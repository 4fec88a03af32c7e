"""Input topics of the test driver: records, lists of records, clocks, and what a topic refuses."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver

MS = timedelta(milliseconds=1)


@pytest.fixture
def driver():
    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    with TopologyTestDriver(builder.build(), wall_clock_ms=1_000) as driver:
        yield driver


def written(driver):
    return [(record.key, record.value, record.timestamp_ms) for record in driver.output_topic("out")]


def test_a_record_without_a_timestamp_gets_the_time_of_the_wall_clock(driver):
    topic = driver.input_topic("in")
    topic.pipe("a", 1)
    driver.advance_wall_clock(5 * MS)
    topic.pipe(hr.Record("a", 2))
    assert written(driver) == [("a", 1, 1_000), ("a", 2, 1_005)]


def test_a_record_is_piped_with_its_timestamp_headers_and_partition(driver):
    record = hr.Record("a", 1, 12, (("trace", b"1"), ("none", None)), partition=2)
    driver.input_topic("in").pipe(record)
    [read] = driver.output_topic("out").read_all()
    assert read == record
    assert read.partition == 2


def test_the_clock_of_a_topic_advances_with_each_record_without_a_timestamp(driver):
    topic = driver.input_topic("in", start_timestamp_ms=100, auto_advance=10 * MS)
    topic.pipe("a", 1)
    topic.pipe(hr.Record("a", 2))
    topic.advance_time(5 * MS)
    topic.pipe("a", 3)
    topic.pipe("a", 4, timestamp_ms=7)
    topic.pipe("a", 5)
    assert written(driver) == [("a", 1, 100), ("a", 2, 110), ("a", 3, 125), ("a", 4, 7), ("a", 5, 135)]


def test_a_clock_without_a_start_begins_at_the_wall_clock(driver):
    advancing, moved = driver.input_topic("in", auto_advance=3 * MS), driver.input_topic("in")
    advancing.pipe_values([1, 2])
    moved.advance_time(50 * MS)
    driver.advance_wall_clock(500 * MS)
    moved.pipe_values([3, 4])
    assert written(driver) == [(None, 1, 1_000), (None, 2, 1_003), (None, 3, 1_050), (None, 4, 1_050)]


def test_lists_are_piped_in_order(driver):
    topic = driver.input_topic("in")
    topic.pipe_values(["x", None])
    topic.pipe_values(["y", "z"], start_timestamp_ms=5, advance=2 * MS)
    topic.pipe_key_values([("a", 1), ("b", 2)], start_timestamp_ms=9)
    topic.pipe_key_values(iter([("c", None)]))
    topic.pipe_records([hr.Record("d", 3, 20), hr.Record("e", 4)])
    assert written(driver) == [
        (None, "x", 1_000),
        (None, None, 1_000),
        (None, "y", 5),
        (None, "z", 7),
        ("a", 1, 9),
        ("b", 2, 9),
        ("c", None, 1_000),
        ("d", 3, 20),
        ("e", 4, 1_000),
    ]


@pytest.mark.parametrize(
    ("timestamp_ms", "reason"),
    [
        (1.5, "timestamp_ms is 1.5; a timestamp is a whole number"),
        ("12", "timestamp_ms is '12'; a timestamp is a whole number"),
        (2**63, "timestamp_ms is 9223372036854775808; the highest is 9223372036854775807"),
        (-(2**63) - 1, "64 bits"),
    ],
)
def test_a_timestamp_that_no_topic_can_store_is_refused_with_the_topic(driver, timestamp_ms, reason):
    with pytest.raises(hr.StreamsError, match=f"^Topic 'in': .*{reason}"):
        driver.input_topic("in").pipe("a", 1, timestamp_ms=timestamp_ms)
    assert driver.output_topic("out").is_empty()


def test_the_highest_timestamp_and_whole_numbers_of_numpy_are_accepted(driver):
    driver.input_topic("in").pipe("a", 1, timestamp_ms=2**63 - 1)
    driver.input_topic("in").pipe("a", 2, timestamp_ms=np.int64(5))
    assert written(driver) == [("a", 1, 2**63 - 1), ("a", 2, 5)]


@pytest.mark.parametrize(
    "headers",
    [{"a": b"1"}, "ab", b"ab", 7, ["ab"], [("a", "1")], [(b"a", b"1")], [("a", b"1", b"2")], [{"a", b"1"}], None],
)
def test_headers_that_are_not_pairs_of_text_and_bytes_are_refused_with_the_topic(driver, headers):
    with pytest.raises(hr.StreamsError, match=r"^Topic 'in': .*; headers are a tuple of pairs of a name and bytes"):
        driver.input_topic("in").pipe("a", 1, 5, headers)
    assert driver.output_topic("out").is_empty()


def test_headers_that_a_processor_forwards_are_checked_when_it_makes_the_record():
    builder = hr.StreamsBuilder()

    class Forwarding(hr.Processor):
        def process(self, record):
            self.context.forward(hr.Record(record.key, record.value, 5, [("a", "1")]))

    builder.stream("in").process(Forwarding).to("out")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(hr.StreamsError, match=r"header.*'a', '1'"):
        driver.input_topic("in").pipe("a", 1)


def test_a_processor_cannot_forward_a_timestamp_beyond_the_end_of_time():
    builder = hr.StreamsBuilder()

    class Forwarding(hr.Processor):
        def process(self, record):
            self.context.forward(record, hr.To.all().with_timestamp(2**63))

    builder.stream("in").process(Forwarding).to("out")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(hr.ProcessingError, match="is at most 92233720"):
        driver.input_topic("in").pipe("a", 1)


def test_wrong_arguments_are_refused_with_what_to_write_instead(driver):
    topic = driver.input_topic("in")
    with pytest.raises(hr.StreamsError, match=r"pipe\(\) needs a Record, or a key and a value; got only 'a'"):
        topic.pipe("a")
    with pytest.raises(hr.StreamsError, match="auto_advance was given 5; it takes a timedelta of 0 or more"):
        driver.input_topic("in", auto_advance=5)
    with pytest.raises(hr.StreamsError, match=r"advance_time\(\) was given .*; it takes a timedelta of 0 or more"):
        topic.advance_time(-MS)
    with pytest.raises(hr.StreamsError, match="start_timestamp_ms is -1; it must be 0 or greater"):
        driver.input_topic("in", start_timestamp_ms=-1)
    with pytest.raises(hr.StreamsError, match="needs start_timestamp_ms="):
        topic.pipe_values([1], advance=MS)
    with pytest.raises(hr.TopicError, match="no partition -1"):
        topic.pipe("a", 1, partition=-1)
    with pytest.raises(hr.ConfigError, match=r"pass an object such as serdes.String\(\)"):
        driver.input_topic("in", serdes.String)
    with pytest.raises(hr.SerdeError, match="Topic 'in', value of the piped record"):
        driver.input_topic("in", value_serde=serdes.Long()).pipe("a", "text")
    assert driver.output_topic("out").is_empty()
