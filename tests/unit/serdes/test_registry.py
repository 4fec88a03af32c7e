"""What all serdes with a schema registry share: requests, errors, hidden credentials."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest

import headrace as hr
from headrace import RegistryError, SerdeError, serdes
from headrace.testing import TopologyTestDriver
from tests.support.protos.orders_pb2 import Order
from tests.support.registry import LocalRegistry

CLICK = {"type": "record", "name": "Click", "fields": [{"name": "path", "type": "string"}]}
WIDER = {**CLICK, "fields": [*CLICK["fields"], {"name": "user", "type": "string"}]}
SCHEMA = {"title": "Click", "type": "object"}
AT_ONCE = {"max.retries": 0}


def all_kinds(registry, **arguments):
    return [
        serdes.Avro(CLICK, registry=registry, **arguments),
        serdes.Protobuf(Order, registry=registry, **arguments),
        serdes.JsonSchema(SCHEMA, registry=registry, **arguments),
    ]


VALUES = [{"path": "/"}, Order(id="a"), {"path": "/"}]


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_an_unknown_schema_id_is_an_error_of_the_record(kind):
    with LocalRegistry() as local:
        serde = all_kinds(serdes.Registry(local.url))[kind]
        with pytest.raises(SerdeError) as refused:
            serde.deserialize(b"\x00\x00\x00\x00\x63\x00")
    assert type(refused.value) is SerdeError
    assert f"{serde!r} cannot deserialize" in str(refused.value)
    assert f"written with schema 99, which Registry('{local.url}') does not have" in str(refused.value)


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_registry_that_does_not_answer_is_not_an_error_of_the_record(kind):
    with LocalRegistry() as local:
        pass
    serde = all_kinds(serdes.Registry(local.url, AT_ONCE))[kind]
    with pytest.raises(RegistryError, match=r"was asked to look up schema 1 and did not answer: ConnectError"):
        serde.deserialize(b"\x00\x00\x00\x00\x01\x00")
    with pytest.raises(RegistryError, match=r"was asked to register a schema under subject '.*' and did not answer"):
        serde.serialize(VALUES[kind])


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_schema_of_another_type_is_refused(kind):
    with LocalRegistry() as local:
        kinds = all_kinds(serdes.Registry(local.url), subject="clicks-value")
        data = kinds[kind - 1].serialize(VALUES[kind - 1])
        with pytest.raises(SerdeError, match=r"written with schema \d of Registry\(.*\), whose type is \w+, not \w+"):
            kinds[kind].deserialize(data)


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize(
    ("data", "seen"), [(b"", "has 0 bytes"), (b"\x00\x00\x01", "has 3 bytes"), (b'{"path":"/"}', "begins with 123")]
)
def test_bytes_without_a_schema_id_are_refused(kind, data, seen):
    serde = all_kinds(serdes.Registry("mock://unframed"))[kind]
    with pytest.raises(SerdeError, match=f"a 0, the id of a schema in 4 bytes, and the data; this {seen}"):
        serde.deserialize(data)


def test_an_error_says_why_the_registry_refuses_a_schema():
    with LocalRegistry() as local:
        registry = serdes.Registry(local.url)
        serdes.Avro(CLICK, registry=registry).serialize({"path": "/"})
        local.refused.add("Click")
        with pytest.raises(
            RegistryError, match=r"under subject 'Click' and refused: .*incompatible.*HTTP status code 409"
        ):
            serdes.Avro(WIDER, registry=registry).serialize({"path": "/", "user": "ann"})


def test_without_auto_register_a_schema_must_be_registered():
    with LocalRegistry() as local:
        registry = serdes.Registry(local.url)
        strict = serdes.Avro(CLICK, registry=registry, auto_register=False)
        with pytest.raises(RegistryError, match=r"Subject 'Click' not found.*Register it, or let the serde do so"):
            strict.serialize({"path": "/"})
        assert local.subjects == {}
        serdes.Avro(WIDER, registry=registry).serialize({"path": "/", "user": "ann"})
        with pytest.raises(RegistryError, match=r"Schema not found"):
            strict.serialize({"path": "/"})
        data = serdes.Avro(CLICK, registry=registry).serialize({"path": "/"})
        assert strict.serialize({"path": "/"}) == data


def test_credentials_are_sent_to_the_registry_and_never_shown():
    with LocalRegistry(credentials="app:s3cret") as local:
        registry = serdes.Registry(local.url, {"basic.auth.user.info": "app:s3cret"})
        in_url = serdes.Registry(local.url.replace("http://", "http://app:s3cret@"))
        for serde in (*all_kinds(registry, subject="a"), *all_kinds(in_url, subject="b")):
            copy = pickle.loads(pickle.dumps(serde))
            value = Order(id="a") if isinstance(serde, serdes.Protobuf) else {"path": "/"}
            assert copy.deserialize(copy.serialize(value)) == value
            assert "s3cret" not in repr(serde)
        assert repr(registry) == repr(in_url) == f"Registry('{local.url}')"
        with pytest.raises(RegistryError, match="Unauthorized") as refused:
            serdes.Avro(CLICK, registry=serdes.Registry(local.url.replace("://", "://app:wr0ng@"))).serialize(
                {"path": "/"}
            )
        assert "wr0ng" not in str(refused.value)


def test_settings_are_checked_at_once():
    with pytest.raises(SerdeError, match=r"has invalid settings: Unrecognized properties: max.retris"):
        serdes.Registry("http://localhost:1", {"max.retris": 1})
    with pytest.raises(SerdeError, match=r"has invalid settings: Invalid url nope"):
        serdes.Registry("nope")
    with pytest.raises(SerdeError, match=r"subject='x' needs a registry"):
        serdes.Avro(CLICK, subject="x")
    with pytest.raises(SerdeError, match=r"Avro\('long', registry=…\): a schema without a name needs a subject"):
        serdes.Avro("long", registry=serdes.Registry("mock://names"))


def test_several_urls():
    with LocalRegistry() as local:
        registry = serdes.Registry(f"http://127.0.0.1:1,{local.url}", AT_ONCE)
        assert serdes.Avro(CLICK, registry=registry).serialize({"path": "/"}) == b"\x00\x00\x00\x00\x01\x02/"
        assert repr(registry) == f"Registry('http://127.0.0.1:1,{local.url}')"


def test_equal_registries_share_a_client_that_no_child_process_inherits():
    one, other = serdes.Registry("mock://shared"), serdes.Registry("mock://shared")
    assert one == pickle.loads(pickle.dumps(other)) != serdes.Registry("mock://another")
    assert one._client() is other._client()
    script = """
import os
from headrace import serdes
from headrace.serdes.schemas.registry import _clients
serdes.Registry("mock://forked")
child = os.fork()
if child == 0:
    os._exit(len(_clients))
print(len(_clients), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "1 0\n"


def test_topics_with_schemas_in_the_test_driver():
    registry = serdes.Registry("mock://driver")
    clicks, pages = serdes.Avro(CLICK, registry=registry), serdes.JsonSchema(SCHEMA, registry=registry, subject="pages")
    builder = hr.StreamsBuilder()
    builder.stream("clicks", value_serde=clicks).map_values(lambda click: {"seen": click["path"]}).to(
        "pages", value_serde=pages
    )
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic("clicks").pipe("ann", {"path": "/"}, 3)
        assert driver.output_topic("pages").read_all() == [hr.Record("ann", {"seen": "/"}, 3)]


@pytest.mark.parametrize(
    ("missing", "code", "extra"),
    [
        ("fastavro", "serdes.Avro('long')", "avro"),
        ("confluent_kafka", "serdes.Registry('http://localhost:1')", "registry"),
        ("jsonschema", f"serdes.JsonSchema({json.dumps(SCHEMA)}, registry=serdes.Registry('mock://x'))", "registry"),
    ],
)
def test_an_error_names_the_extra_that_installs_a_missing_library(missing, code, extra):
    script = f"""
import sys
sys.modules[{missing!r}] = None
from headrace import SerdeError, serdes
try:
    {code}
except SerdeError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert f'pip install "headrace[{extra}]"' in run.stdout
