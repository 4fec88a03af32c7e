"""Avro: plain, and in Confluent's wire format through Confluent's own client, checked against its own serializers."""

from __future__ import annotations

import json
import pickle

import fastavro
import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given
from hypothesis import strategies as st

from headrace import SerdeError, serdes
from tests.support.registry import LocalRegistry

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "lines", "type": {"type": "array", "items": "int"}},
        {"name": "paid", "type": "boolean", "default": False},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "map", "values": "long"}, "default": {}},
    ],
}
ORDERS = st.fixed_dictionaries(
    {
        "id": st.text(),
        "lines": st.lists(st.integers(-(2**31), 2**31 - 1)),
        "paid": st.booleans(),
        "note": st.none() | st.text(),
        "tags": st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1)),
    }
)
VALUE = {"id": "a1", "lines": [1, -2], "paid": True, "note": "asap", "tags": {"x": 64}}
CONTEXT = SerializationContext("orders", MessageField.VALUE)


@pytest.fixture(scope="module")
def registry():
    with LocalRegistry() as local:
        yield local


@pytest.fixture(scope="module")
def theirs(registry):
    client = SchemaRegistryClient({"url": registry.url})
    settings = {"subject.name.strategy": record_subject_name_strategy}
    serializer = AvroSerializer(client, json.dumps(ORDER), conf=settings)
    return serializer, AvroDeserializer(client, json.dumps(ORDER), conf=settings)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ("long", 64, "8001"),
        ('"string"', "é", "04c3a9"),
        ({"type": "array", "items": "int"}, [1, 2], "04020400"),
        (["null", "boolean"], True, "0201"),
        (ORDER, VALUE, "046131" + "04020300" + "01" + "020861736170" + "0202788001" + "00"),
        (json.dumps(ORDER), {"id": "", "lines": []}, "00" + "00" + "00" + "00" + "00"),
    ],
)
def test_plain_bytes_are_avros_own(schema, value, expected):
    serde = serdes.Avro(schema)
    assert serde.serialize(value).hex() == expected
    read = serde.deserialize(bytes.fromhex(expected))
    assert read == (value if not isinstance(value, dict) else {"paid": False, "note": None, "tags": {}, **value})
    assert (serde.serialize(None), serde.deserialize(None)) == (None, None)


@given(ORDERS)
def test_what_is_written_is_read_again(order):
    serde = serdes.Avro(ORDER)
    assert serde.deserialize(serde.serialize(order)) == order


@given(ORDERS)
def test_bytes_with_a_registry_are_those_of_confluents_serializer_and_each_reads_the_other(registry, theirs, order):
    ours, (serializer, deserializer) = serdes.Avro(ORDER, registry=serdes.Registry(registry.url)), theirs
    assert ours.serialize(order) == serializer(order, CONTEXT)
    assert ours.deserialize(serializer(order, CONTEXT)) == order
    assert deserializer(ours.serialize(order), CONTEXT) == order


def test_wire_format_is_a_zero_the_id_and_the_plain_bytes():
    with LocalRegistry() as registry:
        serde = serdes.Avro(ORDER, registry=serdes.Registry(registry.url))
        assert serde.serialize(VALUE) == b"\x00\x00\x00\x00\x01" + serdes.Avro(ORDER).serialize(VALUE)
        assert registry.subjects == {"shop.Order": [{"schema": json.dumps(ORDER)}]}


def test_a_bytes_schema_writes_no_length_like_confluents_serializers():
    with LocalRegistry() as registry:
        where = serdes.Registry(registry.url)
        serde = serdes.Avro("bytes", registry=where, subject="photos-value")
        client = SchemaRegistryClient({"url": registry.url})
        assert serde.serialize(b"\x01\x02") == b"\x00\x00\x00\x00\x01\x01\x02"
        assert serde.deserialize(b"\x00\x00\x00\x00\x01\x01\x02") == b"\x01\x02"
        assert AvroDeserializer(client)(serde.serialize(b"\x01\x02"), CONTEXT) == b"\x01\x02"
        assert serdes.Avro("string", registry=where, subject="x").deserialize(serde.serialize(b"ab")) == "ab"
    assert serdes.Avro("bytes").serialize(b"\x01\x02").hex() == "040102"


def test_a_schema_is_registered_once_and_looked_up_once_whatever_the_copies():
    with LocalRegistry() as registry:
        serde = serdes.Avro(ORDER, registry=serdes.Registry(registry.url), subject="orders-value")
        for copy in (serde, pickle.loads(pickle.dumps(serde)), pickle.loads(pickle.dumps(serde))):
            assert [copy.deserialize(copy.serialize(VALUE)) for _ in range(2)] == [VALUE, VALUE]
        assert registry.requests == ["POST /subjects/orders-value/versions", "GET /schemas/ids/1"]


def test_data_is_read_with_the_writers_schema_by_avros_rules():
    renamed = {
        "type": "record",
        "name": "Order",
        "namespace": "shop",
        "fields": [
            {"name": "key", "type": "string", "aliases": ["id"]},
            {"name": "lines", "type": {"type": "array", "items": "double"}},
            {"name": "customer", "type": "string", "default": "nobody"},
        ],
    }
    with LocalRegistry() as registry:
        where = serdes.Registry(registry.url)
        data = serdes.Avro(ORDER, registry=where).serialize(VALUE)
        read = serdes.Avro(renamed, registry=where).deserialize(data)
        assert read == {"key": "a1", "lines": [1.0, -2.0], "customer": "nobody"}


def test_schemas_that_refer_to_others_are_read():
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "cents", "type": "long"}]}
    whole = {
        "type": "record",
        "name": "shop.Bill",
        "fields": [{"name": "a", "type": money}, {"name": "b", "type": "Money"}],
    }
    split = {**whole, "fields": [{"name": "a", "type": "shop.Money"}, {"name": "b", "type": "shop.Money"}]}
    twice = [SchemaReference("shop.Money", "money", 1), SchemaReference("Money", "money", 1)]
    with LocalRegistry() as registry:
        client = SchemaRegistryClient({"url": registry.url})
        client.register_schema("money", Schema(json.dumps(money), "AVRO"))
        bill = client.register_schema("bill", Schema(json.dumps(split), "AVRO", twice))
        serde = serdes.Avro(whole, registry=serdes.Registry(registry.url))
        data = bytes([0, 0, 0, 0, bill]) + serdes.Avro(whole).serialize({"a": {"cents": 3}, "b": {"cents": 4}})
        assert serde.deserialize(data) == {"a": {"cents": 3}, "b": {"cents": 4}}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"id": "a"}, "Field lines is specified in the schema but missing"),
        ({**VALUE, "idd": "b"}, "more fields than the schema specifies: idd"),
        ({**VALUE, "id": 3}, "must be string on field id"),
        ({**VALUE, "lines": [1, 1.5]}, "lines[1] is 1.5; the schema wants an int, a whole number of 32 bits"),
        ({**VALUE, "lines": [2**31]}, "lines[0] is 2147483648"),
        ({**VALUE, "lines": [True]}, "lines[0] is True"),
        ({**VALUE, "lines": "12"}, "lines is '12'; the schema wants an array"),
        ({**VALUE, "paid": "no"}, "paid is 'no'; the schema wants a boolean"),
        ({**VALUE, "tags": {"x": 2.5}}, "tags['x'] is 2.5; the schema wants a long"),
        ({**VALUE, "tags": [1]}, "tags is [1]; the schema wants a map"),
        ({**VALUE, "note": 3}, "do not match ['null', 'string'] on field note"),
        (3, "the value is 3; the schema wants a record, shop.Order"),
        (object(), "Encoding objects of type object is unsupported"),
    ],
)
def test_values_that_do_not_fit_are_refused_not_converted(value, problem):
    with pytest.raises(SerdeError) as refused:
        serdes.Avro(ORDER).serialize(value)
    assert "Avro('shop.Order', fingerprint='" in str(refused.value)
    assert problem in str(refused.value)


def test_recursive_records_are_checked_at_every_level():
    node = {"type": "array", "items": {"type": "record", "name": "Node", "fields": []}}
    node["items"]["fields"] = [
        {"name": "n", "type": "int"},
        {"name": "next", "type": {"type": "array", "items": "Node"}},
    ]
    with pytest.raises(SerdeError, match=r"\[0\].next\[0\].n is 0.5"):
        serdes.Avro(node).serialize([{"n": 1, "next": [{"n": 0.5, "next": []}]}])


GOOD = serdes.Avro(ORDER).serialize(VALUE)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "ends too early"),
        (GOOD[:-1], "ends too early"),
        (GOOD + b"\x00", "1 bytes follow"),
        (b"\x02\xff", "utf-8"),
    ],
)
def test_plain_bytes_that_do_not_fit_the_schema_are_refused(data, problem):
    with pytest.raises(SerdeError, match=problem) as refused:
        serdes.Avro(ORDER).deserialize(data)
    assert "Avro('shop.Order', fingerprint='" in str(refused.value)
    with pytest.raises(SerdeError, match=problem):
        serdes.Avro(ORDER).deserialize_many([GOOD, None, data])


def test_bytes_of_another_schema_are_refused_with_its_id():
    with LocalRegistry() as registry:
        where = serdes.Registry(registry.url)
        data = serdes.Avro(ORDER, registry=where).serialize(VALUE)
        other = serdes.Avro({"type": "record", "name": "Click", "fields": []}, registry=where)
        with pytest.raises(SerdeError, match=r"written with schema 1 \(shop.Order\), read as Click: Schema mismatch"):
            other.deserialize(data)
        with pytest.raises(
            SerdeError, match=r"written with schema 1 \(shop.Order\), read as shop.Order: .*ends too early"
        ):
            serdes.Avro(ORDER, registry=where).deserialize(data[:-1])


@pytest.mark.parametrize("schema", [{"type": "record"}, "{", "nope", 3, {"type": "array"}])
def test_an_invalid_schema_is_refused_at_once(schema):
    with pytest.raises(SerdeError, match="this is not an Avro schema"):
        serdes.Avro(schema)


def test_serdes_with_equal_arguments_are_equal():
    parsed = fastavro.parse_schema(ORDER)
    assert serdes.Avro(ORDER) == serdes.Avro(json.dumps(ORDER)) == pickle.loads(pickle.dumps(serdes.Avro(ORDER)))
    assert serdes.Avro(parsed) == serdes.Avro(parsed)
    assert serdes.Avro(ORDER) != serdes.Avro("long")
    assert serdes.Avro(ORDER) != serdes.Avro(ORDER, dict)
    mock = serdes.Registry("mock://equal")
    assert serdes.Avro(ORDER, registry=mock) == serdes.Avro(ORDER, registry=serdes.Registry("mock://equal"))
    assert serdes.Avro(ORDER, registry=mock) != serdes.Avro(ORDER)
    assert serdes.Avro(ORDER, registry=mock) != serdes.Avro(ORDER, registry=mock, subject="orders-value")
    assert len({serdes.Avro(ORDER), serdes.Avro(ORDER)}) == 1
    assert not serdes.Avro(ORDER).canonical


def test_repr_changes_only_if_old_bytes_become_unreadable():
    def at(logical):
        return {**ORDER, "fields": [{"name": "at", "type": {"type": "long", "logicalType": logical}}]}

    told = {**ORDER, "doc": "An order.", "fields": [{**field, "doc": "x"} for field in ORDER["fields"]]}
    assert repr(serdes.Avro(told)) == repr(serdes.Avro(ORDER, dict)) == repr(serdes.Avro(ORDER))
    assert repr(serdes.Avro(at("timestamp-millis"))) != repr(serdes.Avro(at("timestamp-micros")))
    mock = serdes.Registry("mock://repr")
    assert repr(serdes.Avro(ORDER, registry=mock)) == "Avro('shop.Order', registry=…)"
    assert repr(serdes.Avro(at("x"), registry=mock, subject="s")) == "Avro('shop.Order', registry=…)"
