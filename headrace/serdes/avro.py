"""Avro, by itself or with a schema registry."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

from headrace.errors import SerdeError
from headrace.serdes import avro_schema
from headrace.serdes._optional import needed
from headrace.serdes.avro_schema import AvroSchema, Checks
from headrace.serdes.base import cut
from headrace.serdes.coded import Coded
from headrace.serdes.models import plain, reader
from headrace.serdes.registry import Registry, Subject, framed, unframed

T = TypeVar("T")

# fastavro's errors may repeat whole schemas.
_ERROR_LENGTH = 200


class Avro(Coded[T], Generic[T]):
    """Values in Avro's binary encoding, checked against their schema.

    Without a registry, bytes are Avro's alone, and are read with the schema they were written with. With one they are
    in Confluent's wire format: the writer's schema is looked up by its id, and resolved to this one by Avro's rules.

    Args:
        schema: as JSON text, or as the dicts, lists and texts it stands for.
        type: what to read values as: a dataclass, a `msgspec.Struct`, a pydantic model. Without it, records are dicts.
            Values of such types are always written.
        registry: where schemas are kept.
        subject: the name under which this schema is registered, e.g. `orders-value`. A serde does not know its topic;
            the default is the full name of the record.
        auto_register: whether the schema is registered with the first value written; if not, it must be there.

    Raises:
        SerdeError: if `schema` is no Avro schema, `type` is no type that can be read, or fastavro is not installed.

    Example:
        >>> order = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
        >>> Avro(order).serialize({"id": 64}).hex()
        '8001'
        >>> Avro(order).deserialize(bytes.fromhex("8001"))
        {'id': 64}
    """

    @overload
    def __init__(
        self: Avro[Any],
        schema: AvroSchema,
        type: None = None,
        *,
        registry: Registry | None = None,
        subject: str | None = None,
        auto_register: bool = True,
    ) -> None: ...
    @overload
    def __init__(
        self,
        schema: AvroSchema,
        type: Callable[..., T],
        *,
        registry: Registry | None = None,
        subject: str | None = None,
        auto_register: bool = True,
    ) -> None: ...
    def __init__(
        self,
        schema: AvroSchema,
        type: Any = None,  # noqa: A002
        *,
        registry: Registry | None = None,
        subject: str | None = None,
        auto_register: bool = True,
    ) -> None:
        self._schema = avro_schema.given(schema)
        self._type = type
        self._registry = registry
        self._subject = subject
        self._auto_register = auto_register
        self._codec  # noqa: B018  what is wrong with the arguments is said now

    @cached_property
    def _codec(self) -> PlainAvro:
        codec = PlainAvro(self._schema, self._type)
        subject = Subject.of(repr(self), self._registry, self._subject, codec.name, self._auto_register)
        return codec if subject is None else RegisteredAvro(self._schema, self._type, subject)

    def __repr__(self) -> str:
        parsed = avro_schema.parsed(self._schema, {})
        # The manifest of an application compares this: bytes with a schema's id survive a change of the schema.
        rest = f"fingerprint={avro_schema.fingerprint(parsed)!r}" if self._registry is None else "registry=…"
        return f"{type(self).__name__}({avro_schema.title_of(parsed)!r}, {rest})"


class PlainAvro:
    """Avro's own bytes, all of one schema."""

    def __init__(self, schema: Any, type_: Any) -> None:
        self._fastavro = needed("fastavro", extra="avro", user="Avro")
        self.schema = avro_schema.parsed(schema, {})
        self.name = avro_schema.name_of(self.schema)
        self._check = Checks().of(self.schema)
        self._typed = None if type_ is None else _reader(type_)

    def write(self, value: Any) -> bytes:
        data = plain(value)
        if self._check is not None:
            self._check(data, "")
        return self._encoded(data)

    def read(self, data: bytes) -> Any:
        return self._decoded(data, self.schema, None)

    def _encoded(self, data: Any) -> bytes:
        buffer = io.BytesIO()
        self._fastavro.schemaless_writer(buffer, self.schema, data, strict_allow_default=True)
        return buffer.getvalue()

    def _decoded(self, data: bytes, written_with: Any, read_with: Any) -> Any:
        buffer = io.BytesIO(data)
        try:
            value = self._fastavro.schemaless_reader(buffer, written_with, read_with)
        except EOFError as error:
            message = f"the data ends too early for {avro_schema.title_of(written_with)}"
            raise ValueError(message) from error
        if buffer.tell() < len(data):
            message = f"{len(data) - buffer.tell()} bytes follow the data; it was written with another schema"
            raise ValueError(message)
        return value if self._typed is None else self._typed(value)


class RegisteredAvro(PlainAvro):
    """Avro's bytes behind the id of the schema they were written with."""

    def __init__(self, schema: Any, type_: Any, subject: Subject) -> None:
        super().__init__(schema, type_)
        self._text = json.dumps(schema)
        self._subject = subject
        self._id: int | None = None
        self._writers: dict[int, Any] = {}

    def write(self, value: Any) -> bytes:
        payload = super().write(value)
        if self._id is None:
            from confluent_kafka.schema_registry import Schema

            self._id = self._subject.id_of(Schema(self._text, "AVRO"))
        return framed(self._id, payload)

    def read(self, data: bytes) -> Any:
        schema_id, payload = unframed(data)
        writer = self._writers.get(schema_id)
        if writer is None:
            schema = self._subject.registry.schema(schema_id, "AVRO")
            writer = self._writers[schema_id] = self._resolved(schema, {}, set())
        try:
            if _is_bytes(writer):
                payload = self._fastavro_bytes(payload)
            return self._decoded(payload, writer, None if writer == self.schema else self.schema)
        except Exception as error:
            written, wanted = avro_schema.title_of(writer), avro_schema.title_of(self.schema)
            message = f"written with schema {schema_id} ({written}), read as {wanted}: {cut(str(error), _ERROR_LENGTH)}"
            raise SerdeError(message) from error

    def _encoded(self, data: Any) -> bytes:
        # Confluent's serializers write a value of nothing but bytes as it is, without its length.
        return data if _is_bytes(self.schema) and isinstance(data, bytes) else super()._encoded(data)

    def _fastavro_bytes(self, payload: bytes) -> bytes:
        buffer = io.BytesIO()
        self._fastavro.schemaless_writer(buffer, "bytes", payload)
        return buffer.getvalue()

    def _resolved(self, schema: Any, named: dict[str, Any], seen: set[tuple[str, int]]) -> Any:
        """The schema with the definitions of the types that it refers to."""
        for reference in schema.references or ():
            place = (reference.subject, reference.version)
            if place not in seen:
                seen.add(place)
                self._resolved(self._subject.registry.referenced(reference), named, seen)
        return avro_schema.parsed(json.loads(schema.schema_str), named)


def _is_bytes(schema: Any) -> bool:
    return schema in ("bytes", {"type": "bytes"})


def _reader(type_: Any) -> Callable[[Any], Any]:
    try:
        return reader(type_)
    except TypeError as error:
        message = f"Avro(..., type={type_!r}): values cannot be read as that type: {error}"
        raise SerdeError(message) from error
