"""Serdes write Kafka's own bytes, keep nulls, and refuse values of other types."""

from __future__ import annotations

import math
import uuid
import zlib
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace import SerdeError, Window, Windowed, serdes
from headrace.testing import TopologyTestDriver

UUID = uuid.UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("serde", "value", "expected"),
    [
        (serdes.String(), "grüezi", "grüezi".encode().hex()),
        (serdes.Bytes(), b"\x00\xff", "00ff"),
        (serdes.Short(), -2, "fffe"),
        (serdes.Int(), 258, "00000102"),
        (serdes.Long(), -1, "ffffffffffffffff"),
        (serdes.Float(), 1.5, "3fc00000"),
        (serdes.Double(), 1.5, "3ff8000000000000"),
        (serdes.Bool(), True, "01"),
        (serdes.Uuid(), UUID, str(UUID).encode().hex()),
        (serdes.Json(), {"a": [1, None]}, b'{"a":[1,null]}'.hex()),
    ],
)
def test_bytes_are_kafkas_and_come_back_as_the_value(serde, value, expected):
    assert serde.serialize(value).hex() == expected
    assert serde.deserialize(bytes.fromhex(expected)) == value
    assert serde.deserialize_many([None, bytes.fromhex(expected)]) == [None, value]
    assert (serde.serialize(None), serde.deserialize(None)) == (None, None)


TIMES = st.integers(0, 2**62)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("serde", "values"),
    [
        (serdes.String(), st.text()),
        (serdes.Bytes(), st.binary()),
        (serdes.Short(), st.integers(-(2**15), 2**15 - 1)),
        (serdes.Int(), st.integers(-(2**31), 2**31 - 1)),
        (serdes.Long(), st.integers(-(2**63), 2**63 - 1)),
        (serdes.Float(), st.floats(width=32, allow_nan=False)),
        (serdes.Double(), st.floats(allow_nan=False)),
        (serdes.Bool(), st.booleans()),
        (serdes.Uuid(), st.uuids()),
        (serdes.Json(), JSON),
        (
            serdes.WindowedKey(serdes.String(), 10),
            st.builds(lambda key, start: Windowed(key, Window(start, start + 10)), st.text(), TIMES),
        ),
        (
            serdes.SessionWindowedKey(serdes.String()),
            st.builds(lambda key, *ends: Windowed(key, Window(min(ends), max(ends))), st.text(), TIMES, TIMES),
        ),
    ],
)
@given(data=st.data())
def test_what_is_written_is_read_again(serde, values, data):
    value = data.draw(values)
    assert serde.deserialize(serde.serialize(value)) == value


@pytest.mark.parametrize(
    ("serde", "value"),
    [
        (serdes.String(), 3),
        (serdes.Bytes(), "text"),
        (serdes.Short(), 40_000),
        (serdes.Int(), "1"),
        (serdes.Long(), 1.5),
        (serdes.Long(), True),
        (serdes.Double(), True),
        (serdes.Float(), False),
        (serdes.Double(), 2**53 + 1),
        (serdes.Double(), np.int64(2**53 + 1)),
        (serdes.Float(), np.bool_(True)),
        (serdes.Double(), np.bool_(True)),
        (serdes.Double(), "1.5"),
        (serdes.Bool(), 1),
        (serdes.Uuid(), "x"),
        (serdes.Json(), object()),
    ],
)
def test_values_of_another_type_are_refused_with_serde_and_value(serde, value):
    with pytest.raises(SerdeError) as refused:
        serde.serialize(value)
    assert f"{serde!r} cannot serialize" in str(refused.value)
    assert f"of type {type(value).__name__}" in str(refused.value)


@pytest.mark.parametrize(
    ("serde", "value", "read"),
    [
        (serdes.Float(), 2**24 + 1, 2.0**24),
        (serdes.Float(), 2**53 + 1, 2.0**53),
        (serdes.Float(), np.int64(2**24 + 1), 2.0**24),
        (serdes.Float(), Decimal("0.1"), float(np.float32(0.1))),
        (serdes.Float(), float("inf"), float("inf")),
        (serdes.Double(), 2**53, 2.0**53),
        (serdes.Double(), 2**64, 2.0**64),
        (serdes.Double(), np.float64(0.1), 0.1),
        (serdes.Double(), np.float32(0.1), float(np.float32(0.1))),
        (serdes.Double(), Decimal("0.5"), 0.5),
        (serdes.Double(), Decimal("Infinity"), float("inf")),
        (serdes.Double(), Decimal("0.1"), 0.1),
        (serdes.Double(), Fraction(1, 3), 1 / 3),
    ],
)
def test_a_float_rounds_every_number_and_a_double_takes_those_that_it_can_hold(serde, value, read):
    assert serde.deserialize(serde.serialize(value)) == read


@pytest.mark.parametrize(
    ("serde", "value", "reason"),
    [
        (
            serdes.Double(),
            2**53 + 1,
            "a double cannot hold it exactly; round it with float(value), or use serdes.Long()",
        ),
        (
            serdes.Double(),
            2**63 - 1,
            "a double cannot hold it exactly; round it with float(value), or use serdes.Long()",
        ),
        (serdes.Double(), 2**63 + 1, "a double cannot hold it exactly; round it with float(value)"),
        (serdes.Double(), np.uint64(2**64 - 1), "a double cannot hold it exactly; round it with float(value)"),
        pytest.param(serdes.Double(), 10**400, "it is too large for a double", id="400 digits"),
        (serdes.Double(), Decimal("1e400"), "it is too large for a double"),
        (serdes.Float(), 10**39, "it is too large for a float of 4 bytes"),
        (serdes.Float(), 1e39, "it is too large for a float of 4 bytes"),
        (serdes.Float(), Decimal("1e400"), "it is too large for a float of 4 bytes"),
        pytest.param(serdes.Float(), 10**400, "it is too large for a float of 4 bytes", id="400 digits in 4 bytes"),
    ],
)
def test_a_number_beyond_a_serde_is_refused_with_the_reason_and_what_to_do(serde, value, reason):
    with pytest.raises(SerdeError) as refused:
        serde.serialize(value)
    assert str(refused.value).endswith(f" of type {type(value).__name__}: {reason}")


@pytest.mark.parametrize("serde", [serdes.Float(), serdes.Double()])
@pytest.mark.parametrize("value", [float("nan"), np.float32("nan"), Decimal("NaN")])
def test_nan_stays_nan(serde, value):
    assert math.isnan(serde.deserialize(serde.serialize(value)))


@pytest.mark.parametrize(
    ("serde", "data"),
    [
        (serdes.String(), b"\xff"),
        (serdes.Int(), b"123"),
        (serdes.Bool(), b"\x02"),
        (serdes.Uuid(), b"no"),
        (serdes.Json(), b"{"),
    ],
)
def test_malformed_bytes_are_refused(serde, data):
    with pytest.raises(SerdeError, match="cannot deserialize"):
        serde.deserialize(data)
    with pytest.raises(SerdeError, match="cannot deserialize"):
        serde.deserialize_many([None, data])


class Shouted(serdes.String):
    """A text that is written in capital letters and read in small ones."""

    def _to_bytes(self, value):
        return value.upper().encode()

    def _from_bytes(self, data):
        return data.decode("ascii").lower()


def test_a_subclass_converts_every_value_itself():
    shouted = Shouted()
    column = pa.array([b"ABC", None], pa.binary())
    assert shouted.serialize("abc") == b"ABC"
    assert shouted.deserialize_many(column.to_pylist()) == ["abc", None]
    assert shouted.checked(column) is column
    with pytest.raises(hr.SerdeError):
        shouted.checked(pa.array(["É".encode()], pa.binary()))
    assert (shouted.canonical, serdes.String().canonical) == (False, True)


class Loud(serdes.String):
    """Written in capital letters."""

    def serialize(self, value):
        return None if value is None else value.upper().encode()


class Quiet(serdes.String):
    """Read in small letters, if many are read."""

    def deserialize_many(self, column):
        return [None if data is None else data.decode().lower() for data in column]


class Capital:
    def _to_bytes(self, value):
        return value.upper().encode()


class Mixed(Capital, serdes.String):
    """Written by a mixin that is not a serde."""


@pytest.mark.parametrize("serde", [Shouted(), Loud(), Mixed()])
def test_a_subclass_also_converts_values_in_bulk(serde):
    assert serde.serialize("a") == b"A"
    assert serde.serialize_many(["a", None]).to_pylist() == [b"A", None]
    assert (serde.canonical, serde.plain) == (False, None)


def test_a_subclass_that_overrides_deserialize_many_is_not_canonical():
    assert (Quiet().canonical, Quiet().plain) == (False, str)


def test_a_subclass_of_json_is_another_format():
    class Packed(serdes.Json):
        def _to_bytes(self, value):
            return zlib.compress(super()._to_bytes(value))

    assert Packed() != serdes.Json()
    assert serdes.Json() != Packed()
    assert Packed() == Packed()


def test_counting_by_keys_of_a_subclass_uses_its_format():
    builder = hr.StreamsBuilder()
    builder.stream("in", key_serde=Shouted()).group_by_key(key_serde=Shouted()).count().to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        for timestamp_ms, key in enumerate([b"ab", b"AB", b"Ab"]):
            driver.input_topic("in", key_serde=serdes.Bytes()).pipe(key, 1, timestamp_ms=timestamp_ms)
        assert driver.output_topic("out").read_all() == [
            hr.Record("ab", 1, 0),
            hr.Record("ab", 2, 1),
            hr.Record("ab", 3, 2),
        ]


@pytest.mark.parametrize(
    ("serde", "values"),
    [
        (serdes.String(), ["a", None, "ü", ""]),
        (serdes.Bytes(), [b"a", None, b""]),
        (serdes.Short(), [-(2**15), 0, 2**15 - 1]),
        (serdes.Int(), [-(2**31), -1, 2**31 - 1]),
        (serdes.Long(), [-(2**63), 1, 2**63 - 1]),
        (serdes.Long(), [1, None]),
        (serdes.Long(), []),
        (serdes.Json(), [{"a": 1}, None, [2]]),
    ],
)
def test_many_values_are_serialized_as_each_of_them(serde, values):
    column = serde.serialize_many(values)
    assert (column.type, column.to_pylist()) == (pa.binary(), [serde.serialize(value) for value in values])


@pytest.mark.parametrize(
    ("serde", "values"), [(serdes.Short(), [1, 2**15]), (serdes.Long(), [2**63]), (serdes.Json(), [1, 1j])]
)
def test_an_error_names_the_value_among_many(serde, values):
    with pytest.raises(hr.SerdeError, match=f"cannot serialize {values[-1]}"):
        serde.serialize_many(values)
