"""JSON has no NaN and no infinities: a value that contains one cannot be serialized, instead of becoming null."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan

import msgspec
import numpy as np
import pydantic
import pytest

import headrace as hr
from headrace import serdes
from headrace.testing import TopologyTestDriver


@dataclass
class Reading:
    celsius: float | None


class Struct(msgspec.Struct):
    celsius: float


class Model(pydantic.BaseModel):
    celsius: float


NOT_FINITE = [
    nan,
    inf,
    -inf,
    np.float64(nan),
    [1.5, nan],
    {"a": {"b": [None, {"c": -inf}]}},
    (inf,),
    {nan},
    Reading(nan),
    Struct(inf),
    Model(celsius=nan),
    {"model": [Model(celsius=inf)]},
]


@pytest.mark.parametrize("value", NOT_FINITE, ids=repr)
@pytest.mark.parametrize(
    "serde",
    [
        serdes.Json(),
        serdes.Json(float),
        serdes.JsonSchema({"title": "any"}, registry=serdes.Registry("mock://any")),
        serdes.JsonSchema({"title": "any"}, registry=serdes.Registry("mock://any"), validate=False),
    ],
    ids=["Json", "typed Json", "JsonSchema", "JsonSchema without validation"],
)
def test_nan_and_infinities_cannot_be_serialized(serde, value):
    with pytest.raises(hr.SerdeError, match=r"cannot serialize .* JSON has no NaN and no infinities"):
        serde.serialize(value)


@pytest.mark.parametrize("value", NOT_FINITE, ids=repr)
def test_nan_and_infinities_in_a_list_serde_cannot_be_serialized(value):
    with pytest.raises(hr.SerdeError, match="JSON has no NaN and no infinities"):
        serdes.List(serdes.Json()).serialize([1, value])


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        ([None, 1.5], b"[null,1.5]"),
        ({"null": "NaN"}, b'{"null":"NaN"}'),
        (Reading(None), b'{"celsius":null}'),
        ({"raw": msgspec.Raw(b"[null]"), "model": Model(celsius=1)}, b'{"raw":[null],"model":{"celsius":1.0}}'),
        ({1.5: None, 2: {"a"}}, b'{"1.5":null,"2":["a"]}'),
        (1e308, b"1e308"),
    ],
)
def test_nulls_and_finite_numbers_are_written(value, raw):
    assert serdes.Json().serialize(value) == raw


def halves():
    builder = hr.StreamsBuilder()
    builder.stream("in").map_values(lambda value: {"half": float(value) / 2}).to("out", name="writes")
    return builder.build()


def test_nan_in_a_result_is_an_unserializable_value_for_the_production_handler():
    config = hr.StreamsConfig(application_id="t", production_exception_handler="continue")
    with TopologyTestDriver(halves(), config) as driver:
        for value in ("1", "nan", "-inf", "3"):
            driver.input_topic("in").pipe("k", value, 5)
        out = [(record.key, record.value, record.timestamp_ms) for record in driver.output_topic("out").read_all()]
        assert out == [("k", {"half": 0.5}, 5), ("k", {"half": 1.5}, 5)]
        assert driver.metrics()["writes"] == {"dropped": {"unserializable value": 2}}


def test_nan_in_a_result_stops_the_application_by_default():
    with (
        TopologyTestDriver(halves()) as driver,
        pytest.raises(hr.ProcessingError, match=r"writes failed on record in-0@0 .* JSON has no NaN"),
    ):
        driver.input_topic("in").pipe("k", "nan", 5)
