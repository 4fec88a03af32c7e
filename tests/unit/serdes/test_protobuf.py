"""Protocol Buffers: plain, and in Confluent's wire format, checked against Confluent's own serializers."""

from __future__ import annotations

import base64
import pickle

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, record_subject_name_strategy
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given
from hypothesis import strategies as st

from headrace import SerdeError, serdes
from tests.support.protos.money_pb2 import Money
from tests.support.protos.orders_pb2 import DESCRIPTOR, Order, Total
from tests.support.registry import LocalRegistry

CONTEXT = SerializationContext("orders", MessageField.VALUE)
STRATEGY = {"subject.name.strategy": record_subject_name_strategy}
LINES = st.builds(Order.Line, item=st.text(), count=st.integers(-(2**31), 2**31 - 1))
PRICES = st.builds(Money, currency=st.text(), cents=st.integers(-(2**63), 2**63 - 1))
ORDERS = st.builds(Order, id=st.text(), price=PRICES, lines=st.lists(LINES))
SUBJECTS = ["shop.Order", "tests/support/protos/money.proto"]


@pytest.fixture(scope="module")
def registry():
    with LocalRegistry() as local:
        yield local


@pytest.fixture(scope="module")
def client(registry):
    return SchemaRegistryClient({"url": registry.url})


def test_plain_bytes_are_the_messages_own():
    serde = serdes.Protobuf(Order)
    order = Order(id="a", lines=[Order.Line(item="x", count=2)])
    assert serde.serialize(order) == order.SerializeToString() == bytes.fromhex("0a0161 1a05 0a0178 1002")
    assert serde.deserialize(bytes.fromhex("0a0161 1a05 0a0178 1002")) == order
    assert (serde.serialize(None), serde.deserialize(None)) == (None, None)


@given(ORDERS, st.dictionaries(st.text(), st.text()))
def test_what_is_written_is_read_again(order, tags):
    order.tags.update(tags)
    assert serdes.Protobuf(Order).deserialize(serdes.Protobuf(Order).serialize(order)) == order


@given(st.lists(st.text(), unique=True, min_size=2))
def test_equal_messages_have_equal_bytes_whatever_the_order_of_their_maps(names):
    one, other = Order(tags=dict.fromkeys(names, "x")), Order(tags=dict.fromkeys(reversed(names), "x"))
    assert serdes.Protobuf(Order).serialize(one) == serdes.Protobuf(Order).serialize(other)


@given(ORDERS)
def test_bytes_with_a_registry_are_those_of_confluents_serializer_and_each_reads_the_other(registry, client, order):
    ours = serdes.Protobuf(Order, registry=serdes.Registry(registry.url))
    written = ProtobufSerializer(Order, client, STRATEGY)(order, CONTEXT)
    assert ours.serialize(order) == written
    assert ours.deserialize(written) == order
    assert ProtobufDeserializer(Order, schema_registry_client=client)(ours.serialize(order), CONTEXT) == order


@pytest.mark.parametrize(
    ("message", "indexes"),
    [
        (Order(id="a"), "00"),
        (Total(customer="a"), "02 02"),
        (Order.Line(item="a"), "04 00 00"),
        (Order.Discount.Reason(text="a"), "06 00 02 00"),
    ],
)
def test_the_index_of_a_message_in_its_file_follows_the_id(registry, client, message, indexes):
    serde = serdes.Protobuf(type(message), registry=serdes.Registry(registry.url))
    data = serde.serialize(message)
    assert data == ProtobufSerializer(type(message), client, STRATEGY)(message, CONTEXT)
    assert data[5:] == bytes.fromhex(indexes) + b"\x0a\x01a"
    assert serde.deserialize(data) == message


def test_files_that_a_file_imports_are_registered_first_and_referred_to():
    with LocalRegistry() as local:
        serde = serdes.Protobuf(Order, registry=serdes.Registry(local.url), subject="orders-value")
        serde.serialize(Order())
        assert local.subjects["orders-value"] == [
            {
                "schema": base64.b64encode(DESCRIPTOR.serialized_pb).decode(),
                "schemaType": "PROTOBUF",
                "references": [{"name": SUBJECTS[1], "subject": SUBJECTS[1], "version": 1}],
            }
        ]
        assert list(local.subjects) == [SUBJECTS[1], "orders-value"]


def test_schemas_are_registered_once_and_looked_up_once_whatever_the_copies():
    with LocalRegistry() as local:
        serde = serdes.Protobuf(Order, registry=serdes.Registry(local.url))
        for copy in (serde, pickle.loads(pickle.dumps(serde)), pickle.loads(pickle.dumps(serde))):
            assert [copy.deserialize(copy.serialize(Order(id="a"))) for _ in range(2)] == [Order(id="a")] * 2
        assert local.requests == [
            f"POST /subjects/{SUBJECTS[1]}/versions",
            f"POST /subjects/{SUBJECTS[1]}",
            "POST /subjects/shop.Order/versions",
            "GET /schemas/ids/2",
        ]


def test_without_auto_register_schemas_must_be_registered():
    with LocalRegistry() as local:
        where = serdes.Registry(local.url)
        strict = serdes.Protobuf(Order, registry=where, auto_register=False)
        with pytest.raises(SerdeError, match=f"look up a schema under subject '{SUBJECTS[1]}' and refused"):
            strict.serialize(Order())
        assert list(local.subjects) == []
        assert serdes.Protobuf(Order, registry=where).serialize(Order()) == strict.serialize(Order())


def test_a_message_of_another_name_is_refused():
    with LocalRegistry() as local:
        where = serdes.Registry(local.url)
        data = serdes.Protobuf(Total, registry=where).serialize(Total(customer="a", cents=3))
        with pytest.raises(SerdeError, match=r"written with schema 2, this is a shop.Total, not a shop.Order$"):
            serdes.Protobuf(Order, registry=where).deserialize(data)
        with pytest.raises(SerdeError, match=r"written with schema 2, which has no message at \[7\]"):
            serdes.Protobuf(Order, registry=where).deserialize(data[:5] + b"\x02\x0e")
        text = SchemaRegistryClient({"url": local.url}).register_schema("x", Schema('syntax = "proto3";', "PROTOBUF"))
        with pytest.raises(SerdeError, match=f"returned schema {text} in a form that cannot be read"):
            serdes.Protobuf(Order, registry=where).deserialize(bytes([0, 0, 0, 0, text, 0]))


@pytest.mark.parametrize("data", [b"\x0a", b"\x0a\x05a", b"\xff"])
def test_bytes_that_are_not_a_message_are_refused(registry, data):
    with pytest.raises(SerdeError, match=r"^Protobuf\('shop.Order'\) cannot deserialize"):
        serdes.Protobuf(Order).deserialize(data)
    serde = serdes.Protobuf(Order, registry=serdes.Registry(registry.url))
    framed = serde.serialize(Order())[:6] + data
    with pytest.raises(
        SerdeError, match=r"^Protobuf\('shop.Order', registry=…\) cannot deserialize .*with schema \d+:"
    ):
        serde.deserialize(framed)


@pytest.mark.parametrize(
    ("indexes", "problem"),
    [
        ("", "ends before the index of the message"),
        ("80", "ends before the index"),
        ("04 00", "ends before the index"),
        ("01", "negative"),
    ],
)
def test_a_broken_message_index_is_refused(registry, indexes, problem):
    serde = serdes.Protobuf(Order, registry=serdes.Registry(registry.url))
    with pytest.raises(SerdeError, match=problem):
        serde.deserialize(b"\x00\x00\x00\x00\x01" + bytes.fromhex(indexes))


def test_other_messages_and_other_things_are_refused():
    with pytest.raises(SerdeError, match=r"of type Total: expected a shop.Order"):
        serdes.Protobuf(Order).serialize(Total())
    with pytest.raises(SerdeError, match=r"of type dict: expected a shop.Order"):
        serdes.Protobuf(Order).serialize({"id": "a"})
    with pytest.raises(SerdeError, match=r"needs a class generated by protoc, .*, not <class 'int'>"):
        serdes.Protobuf(int)


def test_serdes_with_equal_arguments_are_equal():
    assert serdes.Protobuf(Order) == pickle.loads(pickle.dumps(serdes.Protobuf(Order))) != serdes.Protobuf(Total)
    mock = serdes.Registry("mock://protobuf")
    assert serdes.Protobuf(Order, registry=mock) != serdes.Protobuf(Order)
    assert repr(serdes.Protobuf(Order.Line)) == "Protobuf('shop.Order.Line')"
    assert repr(serdes.Protobuf(Order, registry=mock)) == "Protobuf('shop.Order', registry=…)"
    assert not serdes.Protobuf(Order).canonical
