"""Output topics of the test driver: single reads, lists, and serdes that notice wrong bytes."""

from __future__ import annotations

from datetime import timedelta

import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver


@pytest.fixture
def driver():
    builder = hr.StreamsBuilder()
    builder.stream("in").to("out")
    builder.stream("other").to("others")
    with TopologyTestDriver(builder.build()) as driver:
        yield driver


def test_records_are_read_one_by_one_in_order(driver):
    driver.input_topic("in").pipe("a", 1, 10, [("h", b"x")])
    driver.input_topic("in").pipe_key_values([("b", 2), ("c", 3), ("d", 4)])
    out = driver.output_topic("out")
    assert (out.queue_size(), len(out), out.is_empty()) == (4, 4, False)
    assert out.read_record() == hr.Record("a", 1, 10, (("h", b"x"),))
    assert out.read_value() == 2
    assert out.read_key_value() == ("c", 3)
    assert out.read() == hr.Record("d", 4, 0)
    assert (out.queue_size(), len(out), out.is_empty()) == (0, 0, True)


def test_all_objects_of_a_topic_read_the_same_records(driver):
    driver.input_topic("in").pipe_key_values([("a", 1), ("b", 2)])
    first, second = driver.output_topic("out"), driver.output_topic("out")
    assert (first.read_value(), second.read_value(), first.is_empty()) == (1, 2, True)


def test_an_empty_topic_says_whether_it_was_ever_written(driver):
    out = driver.output_topic("out")
    with pytest.raises(hr.TopicError, match="Topic 'out' has no record to read: none was written so far"):
        out.read_record()
    driver.input_topic("in").pipe_values([1, 2])
    out.read_all()
    with pytest.raises(hr.TopicError, match="all 2 that were written have been read"):
        out.read_value()


def test_what_is_left_is_read_as_lists_and_as_a_dict(driver):
    out, entries = driver.output_topic("out"), [("a", 1), ("b", 2), ("a", None)]
    driver.input_topic("in").pipe_key_values(entries)
    assert out.read_key_values() == entries
    driver.input_topic("in").pipe_key_values(entries)
    assert out.read_values() == [1, 2, None]
    driver.input_topic("in").pipe_key_values(entries)
    assert out.read_key_values_as_dict() == {"a": None, "b": 2}
    driver.input_topic("in").pipe_key_values(entries)
    assert [record.key for record in out] == ["a", "b", "a"]
    assert (out.read_all(), out.read_values(), out.read_key_values_as_dict()) == ([], [], {})


def test_a_record_without_a_key_is_no_entry_of_a_dict(driver):
    out = driver.output_topic("out")
    driver.input_topic("in").pipe_key_values([("a", 1), (None, 2)])
    with pytest.raises(hr.TopicError, match=r"record without a key.*Use read_key_values\(\)"):
        out.read_key_values_as_dict()
    assert out.read_key_values() == [("a", 1), (None, 2)]


def test_a_topology_that_writes_the_wrong_bytes_fails_when_it_is_read_with_the_right_serde(driver):
    driver.input_topic("in").pipe("a", 1, 10)
    with pytest.raises(hr.SerdeError, match="Topic 'out', value of record 0: "):
        driver.output_topic("out", value_serde=serdes.Long()).read_record()
    with pytest.raises(hr.SerdeError, match="Topic 'out', key of record 0: "):
        driver.output_topic("out", key_serde=serdes.Long()).read_all()
    assert driver.output_topic("out", serdes.Bytes(), serdes.Bytes()).read_key_value() == (b"a", b"1")


def test_wrapping_serdes_use_the_configured_ones_inside():
    builder = hr.StreamsBuilder()
    windows = hr.TimeWindows.of(timedelta(milliseconds=10))
    builder.stream("in").group_by_key().windowed_by(windows).count().to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("in").pipe("a", "x", 12)
        out = driver.output_topic("out", serdes.WindowedKey(size=timedelta(milliseconds=10)), serdes.Long())
        key, value = out.read_key_value()
    assert (str(key), value) == ("[a@10/20]", 1)


def test_topics_that_got_records_are_listed(driver):
    assert driver.produced_topics() == set()
    driver.input_topic("other").pipe("a", 1)
    driver.output_topic("others").read_all()
    assert driver.produced_topics() == {"others"}
    driver.input_topic("in").pipe("a", 1)
    assert driver.produced_topics() == {"out", "others"}
