"""Records are immutable values."""

from __future__ import annotations

import pickle
import re
from datetime import datetime

import numpy as np
import pytest

from headrace import Record, StreamsError


def test_with_methods_return_a_copy_with_one_change():
    record = Record("k", 1, 5, (("h", b"x"),))
    assert record.with_key("j") == Record("j", 1, 5, (("h", b"x"),))
    assert record.with_value(2) == Record("k", 2, 5, (("h", b"x"),))
    assert record.with_timestamp(6) == Record("k", 1, 6, (("h", b"x"),))
    assert record.with_headers(()) == Record("k", 1, 5)
    assert record == Record("k", 1, 5, (("h", b"x"),))


def test_partition_does_not_affect_equality():
    assert Record("k", 1, 5, partition=3) == Record("k", 1, 5)
    assert hash(Record("k", 1, 5, partition=3)) == hash(Record("k", 1, 5))


@pytest.mark.parametrize("timestamp_ms", [-1, -100])
def test_negative_timestamp_is_refused(timestamp_ms):
    with pytest.raises(StreamsError, match="Malformed record"):
        Record("k", 1, timestamp_ms)
    with pytest.raises(StreamsError, match="Malformed record"):
        Record("k", 1, 0).with_timestamp(timestamp_ms)


@pytest.mark.parametrize("timestamp_ms", [1.5, 1.0, float("nan"), "12", datetime(2026, 1, 1), b"1", [1]])
def test_timestamp_that_is_no_whole_number_is_refused(timestamp_ms):
    said = rf"timestamp_ms is {re.escape(repr(timestamp_ms))}; a timestamp is a whole number of milliseconds"
    with pytest.raises(StreamsError, match=said):
        Record("k", 1, timestamp_ms)
    with pytest.raises(StreamsError, match=said):
        Record("k", 1, 0).with_timestamp(timestamp_ms)


def test_timestamp_may_be_a_whole_number_of_numpy():
    assert Record("k", 1, np.int64(12)) == Record("k", 1, 12)


def test_records_are_immutable_and_picklable():
    record = Record("k", {"a": 1}, 5)
    with pytest.raises(AttributeError):
        record.key = "j"
    assert pickle.loads(pickle.dumps(record)) == record


@pytest.mark.parametrize(
    "headers",
    [
        (("a", "1"),),
        ("a",),
        (("a", b"1", 2),),
        ((1, b"1"),),
        (("a", 1),),
        "ab",
        5,
    ],
)
def test_headers_that_are_not_pairs_of_text_and_bytes_are_refused(headers):
    said = r"headers are .*; headers are a tuple of pairs of a name and bytes or None.*text\.encode\(\)"
    with pytest.raises(StreamsError, match=said):
        Record("k", 1, 0, headers)
    with pytest.raises(StreamsError, match=said):
        Record("k", 1, 0).with_headers(headers)


def test_headers_may_be_a_dict_or_a_list_of_pairs():
    record = Record("k", 1, 0)
    expected = (("a", b"1"), ("b", None))
    assert record.with_headers({"a": b"1", "b": None}).headers == expected
    assert record.with_headers([("a", b"1"), ["b", None]]).headers == expected
    assert record.with_headers(expected).headers == expected
