"""JSON without a type refuses, in stores and internal topics, what it would not read back as itself."""

from __future__ import annotations

import collections
import enum
import pickle
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

import msgspec
import pydantic
import pytest

from headrace import Change, SerdeError, Windowed, serdes
from headrace.model.time.windows import Window
from headrace.serdes.wrapping.sides import Sides, SideValue


@dataclass
class Sale:
    cents: int


class Struct(msgspec.Struct):
    cents: int


class Model(pydantic.BaseModel):
    cents: int


class Point(NamedTuple):
    x: int


class Amount(enum.IntEnum):
    ONE = 1


class Color(enum.StrEnum):
    RED = "red"


class Custom:
    pass


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value",
    [
        *(1, 1.5, True, "text", [], {}, [1, "a", None, 2.5], {"a": 1, "b": [True, {"c": None}]}),
        *([[1], [2, [3]]], [{"a": 1}], Text("a"), {Text("a"): 1}, [Text("a")], 2**62),
    ],
)
def test_plain_values_are_written_and_read_back_equal(value):
    serde = serdes.Json().read_back()
    assert serde.deserialize(serde.serialize(value)) == value
    assert serde.serialize(value) == serdes.Json().serialize(value)


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (Sale(1), "a Sale back as itself, but as a dict. Give value_serde=serdes.Json(Sale)"),
        (Struct(1), "Give value_serde=serdes.Json(Struct)"),
        (Model(cents=1), "Give value_serde=serdes.Json(Model)"),
        (Point(1), "a Point back as itself, but as a list. Give value_serde=serdes.Json(Point)"),
        (Amount.ONE, "an Amount back as itself, but as an int. Give value_serde=serdes.Json(Amount)"),
        ({"a"}, "a set back as itself, but as a list. Give value_serde=serdes.Json(set[str])"),
        (frozenset([1]), "Give value_serde=serdes.Json(frozenset[int])"),
        ((1, "a"), "a tuple back as itself, but as a list. Give value_serde=serdes.Json(tuple[int, str])"),
        (
            datetime(2026, 1, 1, tzinfo=UTC),
            "a datetime back as itself, but as text. Give value_serde=serdes.Json(",
        ),
        (Decimal("1.5"), "Give value_serde=serdes.Json(Decimal)"),
        (uuid.UUID(int=1), "Give value_serde=serdes.Json(UUID)"),
        (b"x", "a bytes back as itself, but as text. Give value_serde=serdes.Json(bytes)"),
        (Color.RED, "Give value_serde=serdes.Json(Color)"),
        ({1: 2}, "the key 1 of the dict back as itself, but as text. Give value_serde=serdes.Json(dict[int, int])"),
        (
            {"users": {"ann"}},
            "the set at ['users'] back as itself, but as a list. Give value_serde=serdes.Json(",
        ),
        ({"n": 1, "users": {"ann"}}, "Describe the value by a dataclass or a TypedDict"),
        ([1, [(2,)]], "the tuple at [1][0] back as itself"),
        ({"a": {"b": {2: 1}}}, "the key 2 of the dict at ['a']['b'] back as itself, but as text"),
        (collections.Counter("a"), "a Counter back as itself, but as a dict. Use a plain dict"),
        (collections.defaultdict(int), "Use a plain dict"),
        (Custom(), "JSON has no form for a Custom. Make it a dataclass and give value_serde=serdes.Json(Custom)"),
    ],
)
def test_what_would_come_back_as_something_else_is_refused_with_a_solution(value, advice):
    with pytest.raises(SerdeError) as refused:
        serdes.Json().read_back().serialize(value)
    assert advice in str(refused.value)


def test_an_output_topic_takes_typed_values_without_a_type():
    assert serdes.Json().serialize([Sale(1), {"a"}, (1,)]) == b'[{"cents":1},["a"],[1]]'


def test_a_typed_serde_and_serdes_of_other_formats_check_nothing_more():
    for serde in (serdes.Json(Sale), serdes.String(), serdes.Long(), serdes.List(serdes.Long())):
        assert serde.read_back() == serde
    assert serdes.Json(Sale).read_back().serialize(Sale(1)) == b'{"cents":1}'


def test_a_json_serde_with_a_format_of_its_own_decides_itself():
    class Own(serdes.Json):
        def _to_bytes(self, value):
            return b"own"

    assert Own().read_back().serialize(Sale(1)) == b"own"


def test_serdes_around_json_check_what_is_inside():
    wrapped = [
        (serdes.List(serdes.Json()), [(1,)]),
        (serdes.WindowedKey(serdes.Json(), 5), Windowed((1,), Window(0, 5))),
        (serdes.ChangeEvent(serdes.Json()), Change((1,), None)),
        (Sides(serdes.Json(), serdes.Json()), SideValue((1,), is_left=True)),
    ]
    for serde, value in wrapped:
        assert serde.serialize(value)
        with pytest.raises(SerdeError, match="a tuple back as itself"):
            serde.read_back().serialize(value)


def test_the_check_survives_pickling_and_does_not_change_what_a_serde_equals():
    serde = serdes.Json().read_back()
    assert (serde, repr(serde), hash(serde)) == (serdes.Json(), "Json()", hash(serdes.Json()))
    with pytest.raises(SerdeError):
        pickle.loads(pickle.dumps(serde)).serialize((1,))
    assert pickle.loads(pickle.dumps(serdes.Json())).serialize((1,)) == b"[1]"
