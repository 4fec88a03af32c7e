"""JSON in Confluent's wire format, checked against Confluent's own serializers."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass

import msgspec
import pydantic
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, record_subject_name_strategy
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import given
from hypothesis import strategies as st

from headrace import SerdeError, serdes
from tests.support.registry import LocalRegistry

PAGE = {
    "title": "Page",
    "type": "object",
    "properties": {"path": {"type": "string"}, "hits": {"type": "integer", "minimum": 0}},
    "required": ["path"],
}
PAGES = st.fixed_dictionaries({"path": st.text(), "hits": st.integers(0, 2**63 - 1)})
CONTEXT = SerializationContext("pages", MessageField.VALUE)


@dataclass
class DataPage:
    path: str
    hits: int = 0


class StructPage(msgspec.Struct):
    path: str
    hits: int = 0


class ModelPage(pydantic.BaseModel):
    path: str
    hits: int = pydantic.Field(0, alias="hitCount")


@pytest.fixture(scope="module")
def registry():
    with LocalRegistry() as local:
        yield local


@pytest.fixture(scope="module")
def theirs(registry):
    client = SchemaRegistryClient({"url": registry.url})
    settings = {"subject.name.strategy": record_subject_name_strategy}
    serializer = JSONSerializer(json.dumps(PAGE), client, conf=settings)
    return serializer, JSONDeserializer(json.dumps(PAGE), schema_registry_client=client, conf=settings)


@given(PAGES)
def test_bytes_are_those_of_confluents_serializer_and_each_reads_the_other(registry, theirs, page):
    ours, (serializer, deserializer) = serdes.JsonSchema(PAGE, registry=serdes.Registry(registry.url)), theirs
    assert ours.serialize(page) == serializer(page, CONTEXT)
    assert ours.deserialize(serializer(page, CONTEXT)) == page
    assert deserializer(ours.serialize(page), CONTEXT) == page


def test_wire_format_is_a_zero_the_id_and_the_json():
    with LocalRegistry() as local:
        serde = serdes.JsonSchema(json.dumps(PAGE), registry=serdes.Registry(local.url), subject="pages-value")
        for copy in (serde, pickle.loads(pickle.dumps(serde))):
            assert copy.serialize({"path": "/"}) == b'\x00\x00\x00\x00\x01{"path":"/"}'
            assert copy.deserialize(b'\x00\x00\x00\x00\x01{"path": "/"}') == {"path": "/"}
            assert (copy.serialize(None), copy.deserialize(None)) == (None, None)
        assert local.subjects == {"pages-value": [{"schema": json.dumps(PAGE), "schemaType": "JSON"}]}
        assert local.requests == ["POST /subjects/pages-value/versions", "GET /schemas/ids/1"]


@pytest.mark.parametrize("kind", [DataPage, StructPage, ModelPage])
def test_the_schema_is_derived_from_a_type(kind):
    with LocalRegistry() as local:
        serde = serdes.JsonSchema(kind, registry=serdes.Registry(local.url))
        assert serde.deserialize(serde.serialize(kind(path="/"))) == kind(path="/")
        registered = json.loads(local.subjects[kind.__name__][0]["schema"])
        assert registered["title"] == kind.__name__
        with pytest.raises(
            SerdeError, match=r"written with schema 1: the schema does not allow \$: 'path' is a required"
        ):
            serde.deserialize(b"\x00\x00\x00\x00\x01{}")


def test_a_schema_and_a_type(registry):
    serde = serdes.JsonSchema(PAGE, StructPage, registry=serdes.Registry(registry.url))
    assert serde.deserialize(serde.serialize(StructPage("/", 3))) == StructPage("/", 3)
    with pytest.raises(SerdeError, match=r"the schema does not allow \$.hits: -1 is less than the minimum"):
        serde.serialize(StructPage("/", -1))


def test_values_that_the_schema_does_not_allow_are_refused(registry):
    serde = serdes.JsonSchema(PAGE, registry=serdes.Registry(registry.url))
    with pytest.raises(
        SerdeError, match=r"JsonSchema\('Page', registry=…\) cannot serialize .* \$.path: 3 is not of type"
    ):
        serde.serialize({"path": 3})
    header = serde.serialize({"path": "/"})[:5]
    with pytest.raises(
        SerdeError, match=r"with schema \d+: the schema does not allow \$.path: 3 is not of type 'string'"
    ):
        serde.deserialize(header + b'{"path":3}')
    with pytest.raises(SerdeError, match=r"with schema \d+: Input data was truncated"):
        serde.deserialize(header + b"{")
    lax = serdes.JsonSchema(PAGE, registry=serdes.Registry(registry.url), validate=False)
    assert lax.deserialize(lax.serialize({"path": 3})) == {"path": 3}


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("{", "this is not JSON"),
        ("3", "a schema is a JSON object, not 3"),
        ({"title": "x", "type": "nope"}, "this is not a JSON Schema: 'nope' is not valid"),
        ({"type": "object"}, "a schema without a name needs a subject"),
        (list[ModelPage], "cannot derive a schema from that type"),
    ],
)
def test_an_invalid_schema_is_refused_at_once(schema, problem):
    with pytest.raises(SerdeError, match=problem):
        serdes.JsonSchema(schema, registry=serdes.Registry("mock://refused"))


def test_serdes_with_equal_arguments_are_equal():
    mock = serdes.Registry("mock://json")
    assert serdes.JsonSchema(PAGE, registry=mock) == serdes.JsonSchema(json.dumps(PAGE), registry=mock)
    assert serdes.JsonSchema(PAGE, registry=mock) != serdes.JsonSchema(PAGE, StructPage, registry=mock)
    assert repr(serdes.JsonSchema(StructPage, registry=mock)) == "JsonSchema('StructPage', registry=…)"
    assert not serdes.JsonSchema(PAGE, registry=mock).canonical
