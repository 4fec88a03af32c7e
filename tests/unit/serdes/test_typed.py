"""Dataclasses, msgspec Structs and pydantic models as values of Json and Avro."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from uuid import UUID

import msgspec
import pyarrow as pa
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import SerdeError, serdes


class Kind(Enum):
    NEW = "NEW"
    USED = "USED"


@dataclass
class DataItem:
    name: str
    count: int
    kind: Kind
    price: Decimal
    at: datetime
    id: UUID
    photo: bytes


class StructItem(msgspec.Struct):
    name: str
    count: int
    kind: Kind
    price: Decimal
    at: datetime
    id: UUID
    photo: bytes


class ModelItem(pydantic.BaseModel):
    name: str
    count: int
    kind: Kind
    price: Decimal
    at: datetime
    id: UUID
    photo: bytes


ITEM = {
    "type": "record",
    "name": "shop.Item",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "count", "type": "long"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "USED"]}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "photo", "type": "bytes"},
    ],
}
FIELDS = {
    "name": st.text(),
    "count": st.integers(-(2**63), 2**63 - 1),
    "kind": st.sampled_from(Kind),
    "price": st.decimals(-1_000_000, 1_000_000, places=2),
    "at": st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
    "id": st.uuids(),
    "photo": st.binary(),
}
TYPES = [DataItem, StructItem, ModelItem]


@pytest.mark.parametrize("kind", TYPES)
@given(fields=st.fixed_dictionaries(FIELDS))
def test_typed_values_come_back_from_avro_as_they_were(kind, fields):
    serde = serdes.Avro(ITEM, kind)
    assert serde.deserialize(serde.serialize(kind(**fields))) == kind(**fields)


@pytest.mark.parametrize("kind", [DataItem, StructItem])
@given(fields=st.fixed_dictionaries(FIELDS))
def test_typed_values_come_back_from_json_as_they_were(kind, fields):
    serde = serdes.Json(kind)
    assert serde.deserialize(serde.serialize(kind(**fields))) == kind(**fields)


@given(fields=st.fixed_dictionaries({**FIELDS, "photo": st.text().map(str.encode)}))
def test_models_come_back_from_json_as_they_were(fields):
    serde = serdes.Json(ModelItem)
    assert serde.deserialize(serde.serialize(ModelItem(**fields))) == ModelItem(**fields)


@pytest.mark.parametrize("kind", TYPES)
def test_avro_without_a_type_takes_typed_values_and_reads_dicts(kind):
    fields = {
        "name": "lamp",
        "count": 2,
        "kind": Kind.NEW,
        "price": Decimal("9.50"),
        "at": datetime(2024, 1, 1, tzinfo=UTC),
        "id": UUID(int=7),
        "photo": b"\x00",
    }
    serde = serdes.Avro(ITEM)
    assert serde.deserialize(serde.serialize(kind(**fields))) == {**fields, "kind": "NEW"}
    assert serde.serialize(kind(**fields)) == serde.serialize({**fields, "kind": "NEW"})


class Address(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    town: str
    since: datetime = pydantic.Field(alias="movedIn")


@dataclass
class Household:
    address: Address
    earlier: list[Address]
    next: Address | None = None


BERN = Address(town="Bern", movedIn=datetime(2020, 5, 1, tzinfo=UTC))
BERN_JSON = b'{"town":"Bern","movedIn":"2020-05-01T00:00:00Z"}'
HOUSEHOLD = {
    "type": "record",
    "name": "Household",
    "fields": [
        {
            "name": "address",
            "type": {
                "type": "record",
                "name": "Address",
                "fields": [
                    {"name": "town", "type": "string"},
                    {"name": "movedIn", "type": {"type": "long", "logicalType": "timestamp-millis"}},
                ],
            },
        },
        {"name": "earlier", "type": {"type": "array", "items": "Address"}},
        {"name": "next", "type": ["null", "Address"]},
    ],
}


def test_models_are_written_and_read_by_their_aliases():
    assert serdes.Json().serialize(BERN) == serdes.Json(Address).serialize(BERN) == BERN_JSON
    assert serdes.Json(Address).deserialize(BERN_JSON) == BERN


def test_models_within_other_types():
    value = Household(BERN, [BERN])
    assert serdes.Json(Household).serialize(value) == b'{"address":%b,"earlier":[%b],"next":null}' % (
        BERN_JSON,
        BERN_JSON,
    )
    for serde in (serdes.Json(Household), serdes.Avro(HOUSEHOLD, Household)):
        assert serde.deserialize(serde.serialize(value)) == value
    assert serdes.Json(dict[str, Address]).deserialize(b'{"a":%b}' % BERN_JSON) == {"a": BERN}


@pytest.mark.parametrize(
    ("serde", "data", "problem"),
    [
        (serdes.Json(Address), b'{"town":"Bern"}', "movedIn"),
        (serdes.Json(Address), b"{", "EOF"),
        (serdes.Json(list[Address]), b'[{"town":3}]', "valid string"),
        (serdes.Avro("long", Kind), b"\x02", "Expected `str`, got `int`"),
        (serdes.Avro({"type": "map", "values": "string"}, Address), b"\x02\x08town\x02B\x00", "movedIn"),
    ],
)
def test_what_does_not_fit_the_type_is_refused(serde, data, problem):
    with pytest.raises(SerdeError) as refused:
        serde.deserialize(data)
    assert f"{serde!r} cannot deserialize" in str(refused.value)
    assert problem in str(refused.value)


def test_a_column_with_an_invalid_model_is_refused():
    serde = serdes.Json(Address)
    column = pa.array([BERN_JSON, None], pa.binary())
    assert serde.checked(column) is column
    with pytest.raises(SerdeError):
        serde.checked(pa.array([BERN_JSON, b"{}"], pa.binary()))


def test_only_json_without_a_type_is_repeatable():
    kinds = (None, DataItem, StructItem, Address, Household, list[Address])
    assert [serdes.Json(kind).repeatable for kind in kinds] == [True, False, False, False, False, False]


@pytest.mark.parametrize("serde", [serdes.Json(Address), serdes.Json(Household), serdes.Avro(HOUSEHOLD, Household)])
def test_typed_serdes_can_be_pickled(serde):
    copy = pickle.loads(pickle.dumps(serde))
    assert copy == serde
    assert repr(copy) == repr(serde)
    value = BERN if serde == serdes.Json(Address) else Household(BERN, [], BERN)
    assert copy.deserialize(serde.serialize(value)) == value


class Node(msgspec.Struct):
    value: int
    next: Node | None = None


def test_a_recursive_type_is_read():
    schema = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "value", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
    }
    serde, chain = serdes.Avro(schema, Node), Node(1, Node(2))
    assert serde.deserialize(serde.serialize(chain)) == chain
    assert serdes.Json(Node).deserialize(serdes.Json(Node).serialize(chain)) == chain


def test_an_unsupported_type_is_refused_at_once():
    with pytest.raises(SerdeError, match="values cannot be read as that type"):
        serdes.Avro("long", type=3)
    with pytest.raises(SerdeError, match="JSON cannot be read as that type"):
        serdes.Json(3)
