"""Avro, with or without a schema registry."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

from headrace.errors import SerdeError
from headrace.serdes.base import truncate
from headrace.serdes.models import converter_to, to_builtins
from headrace.serdes.schemas import avro_schema
from headrace.serdes.schemas.avro_schema import AvroSchema, ValueChecks
from headrace.serdes.schemas.codec import CodecSerde
from headrace.serdes.schemas.optional import import_optional
from headrace.serdes.schemas.registry import Registry, Subject, add_header, split_header

T = TypeVar("T")

# fastavro's errors may contain whole schemas.
_ERROR_LENGTH = 200


class Avro(CodecSerde[T], Generic[T]):
    """Values in Avro's binary encoding, checked against their schema.

    Without a registry, the bytes are plain Avro: writer and reader must use the same schema. With a registry, they are
    in Confluent's wire format: the writer's schema is looked up by its id, and resolved to this one by Avro's rules.

    Args:
        schema: as JSON text, or as parsed JSON: dicts, lists and texts.
        type: the type of the values that are read: a dataclass, a `msgspec.Struct`, a pydantic model. Without it,
            records are read as dicts. Values of all these types can be written, with or without `type`.
        registry: the schema registry.
        subject: the name under which this schema is registered. The default is `<topic>-key` or `<topic>-value`; in
            stores and internal topics, the full name of the record.
        auto_register: whether to register the schema with the first value written; if not, it must be registered
            already.

    Raises:
        SerdeError: if `schema` is not an Avro schema, values cannot be read as `type`, or fastavro is not installed.

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
        self._schema = avro_schema.load(schema)
        self._type = type
        super().__init__(registry, subject, auto_register=auto_register)

    @cached_property
    def _codec(self) -> PlainAvro:
        codec = PlainAvro(self._schema, self._type)
        subject = self._subject_or(codec.name)
        return codec if subject is None else RegisteredAvro(self._schema, self._type, subject)

    def __repr__(self) -> str:
        parsed = avro_schema.parse(self._schema, {})
        # A start of an application compares this text with that of its last start. With a registry the schema may
        # change: old bytes name the schema they were written with.
        rest = f"fingerprint={avro_schema.fingerprint(parsed)!r}" if self._registry is None else "registry=…"
        return f"{type(self).__name__}({avro_schema.title_of(parsed)!r}, {rest})"


class PlainAvro:
    """Avro's binary encoding and nothing else: all values are written and read with one schema."""

    def __init__(self, schema: Any, type_: Any) -> None:
        self._fastavro = import_optional("fastavro", extra="avro", user="Avro")
        self.schema = avro_schema.parse(schema, {})
        self.name = avro_schema.name_of(self.schema)
        self._check = ValueChecks().of(self.schema)
        self._convert = None if type_ is None else _converter_to(type_)

    def write(self, value: Any) -> bytes:
        data = to_builtins(value)
        if self._check is not None:
            self._check(data, "")
        return self._encode(data)

    def read(self, data: bytes) -> Any:
        return self._decode(data, self.schema, None)

    def _encode(self, data: Any) -> bytes:
        buffer = io.BytesIO()
        self._fastavro.schemaless_writer(buffer, self.schema, data, strict_allow_default=True)
        return buffer.getvalue()

    def _decode(self, data: bytes, writer_schema: Any, reader_schema: Any) -> Any:
        buffer = io.BytesIO(data)
        try:
            value = self._fastavro.schemaless_reader(buffer, writer_schema, reader_schema)
        except EOFError as error:
            message = f"the data ends too early for {avro_schema.title_of(writer_schema)}"
            raise ValueError(message) from error
        if buffer.tell() < len(data):
            message = f"{len(data) - buffer.tell()} bytes follow the data; it was written with another schema"
            raise ValueError(message)
        return value if self._convert is None else self._convert(value)


class RegisteredAvro(PlainAvro):
    """Avro in Confluent's wire format: the id of the writer's schema, then Avro's binary encoding."""

    def __init__(self, schema: Any, type_: Any, subject: Subject) -> None:
        super().__init__(schema, type_)
        self._text = json.dumps(schema)
        self._subject = subject
        self._id: int | None = None
        self._writer_schemas: dict[int, Any] = {}

    def write(self, value: Any) -> bytes:
        payload = super().write(value)
        if self._id is None:
            from confluent_kafka.schema_registry import Schema

            self._id = self._subject.id_of(Schema(self._text, "AVRO"))
        return add_header(self._id, payload)

    def read(self, data: bytes) -> Any:
        schema_id, payload = split_header(data)
        writer_schema = self._writer_schemas.get(schema_id)
        if writer_schema is None:
            schema = self._subject.registry.schema(schema_id, "AVRO")
            writer_schema = self._writer_schemas[schema_id] = self._resolve(schema, {}, set())
        try:
            if _is_bytes(writer_schema):
                payload = self._fastavro_bytes(payload)
            return self._decode(payload, writer_schema, None if writer_schema == self.schema else self.schema)
        except Exception as error:
            written, wanted = avro_schema.title_of(writer_schema), avro_schema.title_of(self.schema)
            reason = truncate(str(error), _ERROR_LENGTH)
            message = f"written with schema {schema_id} ({written}), read as {wanted}: {reason}"
            raise SerdeError(message) from error

    def _encode(self, data: Any) -> bytes:
        # Confluent's serializers write a value of the type bytes without its length.
        return data if _is_bytes(self.schema) and isinstance(data, bytes) else super()._encode(data)

    def _fastavro_bytes(self, payload: bytes) -> bytes:
        buffer = io.BytesIO()
        self._fastavro.schemaless_writer(buffer, "bytes", payload)
        return buffer.getvalue()

    def _resolve(self, schema: Any, named: dict[str, Any], seen: set[tuple[str, int]]) -> Any:
        """Parses a schema, after the schemas that it refers to.

        `named` collects the types that they define, and `seen` the subject and version of each reference.
        """
        for reference in schema.references or ():
            version = (reference.subject, reference.version)
            if version not in seen:
                seen.add(version)
                self._resolve(self._subject.registry.referenced(reference), named, seen)
        return avro_schema.parse(json.loads(schema.schema_str), named)


def _is_bytes(schema: Any) -> bool:
    return schema in ("bytes", {"type": "bytes"})


def _converter_to(type_: Any) -> Callable[[Any], Any]:
    try:
        return converter_to(type_)
    except TypeError as error:
        message = f"Avro(..., type={type_!r}): values cannot be read as that type: {error}"
        raise SerdeError(message) from error
