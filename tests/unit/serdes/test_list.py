"""Lists have the bytes of Kafka's ListSerializer; the expected ones were written by that of kafka-clients 4.3.1."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace import SerdeError, serdes

UUID = uuid.UUID("12345678-1234-5678-1234-567812345678")
LONGS = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("inner", "value", "expected"),
    [
        (serdes.String(), ["a", None, "", "é"], "01000000040000000161ffffffff0000000000000002c3a9"),
        (serdes.String(), [], "0100000000"),
        (serdes.Bool(), [True, None, False], "01000000030000000101ffffffff0000000100"),
        (serdes.Bytes(), [b"\x00\xff", None, b""], "01000000030000000200ffffffffff00000000"),
        (serdes.Long(), [1, None, -1, None], "00000000020000000100000003000000040000000000000001ffffffffffffffff"),
        (serdes.Long(), [], "000000000000000000"),
        (serdes.Int(), [258, None], "0000000001000000010000000200000102"),
        (serdes.Short(), [-2], "000000000000000001fffe"),
        (serdes.Float(), [1.5], "0000000000000000013fc00000"),
        (serdes.Double(), [1.5, None], "000000000100000001000000023ff8000000000000"),
        (serdes.Uuid(), [UUID, None], "00000000010000000100000002" + str(UUID).encode().hex()),
        (
            serdes.List(serdes.Int()),
            [[1, None], None, []],
            "0100000003000000110000000001000000010000000200000001ffffffff00000009000000000000000000",
        ),
    ],
)
def test_bytes_are_kafkas_and_come_back_as_the_list(inner, value, expected):
    serde = serdes.List(inner)
    assert serde.serialize(value).hex() == expected
    assert serde.deserialize(bytes.fromhex(expected)) == value
    assert (serde.serialize(None), serde.deserialize(None)) == (None, None)


def test_entries_of_constant_size_are_also_read_from_the_variable_form_as_in_kafka():
    data = bytes.fromhex("0100000002000000080000000000000001ffffffff")
    assert serdes.List(serdes.Long()).deserialize(data) == [1, None]


@given(st.lists(st.none() | st.text()), st.lists(st.none() | LONGS))
def test_what_is_written_is_read_again(texts, numbers):
    for serde, value in ((serdes.List(serdes.String()), texts), (serdes.List(serdes.Long()), numbers)):
        assert serde.deserialize(serde.serialize(value)) == value


@pytest.mark.parametrize(
    ("inner", "data", "problem"),
    [
        (serdes.Int(), "", "ends after 0 bytes"),
        (serdes.Int(), "02", "not 2"),
        (serdes.Int(), "0000000000000000010001", "ends after 11 bytes; 4 more should follow at byte 9"),
        (serdes.Int(), "000000000000000001000000010000", "2 bytes follow the end of the list"),
        (serdes.Int(), "00ffffffff", "says it has -1 nulls"),
        (serdes.String(), "0000000000000000010000", "entries of constant size, but those of String() vary in size"),
        (serdes.String(), "0100000001fffffffe", "says an entry has -2 bytes"),
        (serdes.String(), "0100000001000000017f00", "1 bytes follow"),
        (serdes.String(), "01000000010000000161".replace("61", "ff"), "String() cannot deserialize"),
    ],
)
def test_malformed_bytes_are_refused(inner, data, problem):
    with pytest.raises(SerdeError) as refused:
        serdes.List(inner).deserialize(bytes.fromhex(data))
    assert f"List({inner!r}) cannot deserialize" in str(refused.value)
    assert problem in str(refused.value)


@pytest.mark.parametrize(("value", "problem"), [("abc", "expected a list"), ([1, "x"], "Long() cannot serialize 'x'")])
def test_values_that_cannot_be_written_are_refused(value, problem):
    with pytest.raises(SerdeError) as refused:
        serdes.List(serdes.Long()).serialize(value)
    assert problem in str(refused.value)


def test_a_list_uses_the_default_serde_and_is_never_canonical():
    builder = hr.StreamsBuilder()
    builder.stream("in", value_serde=serdes.List()).to("out", value_serde=serdes.List())
    config = hr.StreamsConfig(application_id="lists", default_value_serde=serdes.Int())
    with hr.testing.TopologyTestDriver(builder.build(), config) as driver:
        driver.input_topic("in").pipe("k", [1, None], 5)
        assert driver.output_topic("out").read_all() == [hr.Record("k", [1, None], 5)]
    assert [serdes.List(inner).canonical for inner in (serdes.Long(), serdes.String())] == [False, False]
    assert not serdes.List().with_default(serdes.Long()).canonical
    assert serdes.List(serdes.Long()) == serdes.List(serdes.Long()) != serdes.List(serdes.Int())
    assert repr(serdes.List(serdes.Long())) == "List(Long())"
