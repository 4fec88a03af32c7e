"""JSON with a JSON Schema in a schema registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

import msgspec

from headrace.errors import SerdeError
from headrace.serdes.json_ import Json, encode
from headrace.serdes.models import is_model
from headrace.serdes.schemas.codec import CodecSerde
from headrace.serdes.schemas.optional import import_optional
from headrace.serdes.schemas.registry import Registry, Subject, add_header, split_header

T = TypeVar("T")


class JsonSchema(CodecSerde[T], Generic[T]):
    r"""JSON in Confluent's wire format, validated against a JSON Schema when it is written and when it is read.

    A value is validated against the schema of this serde, even if it was written with another one. That one must be a
    JSON Schema, too.

    Args:
        schema: a JSON Schema, as text or as a dict; or a type: a dataclass, a `msgspec.Struct`, a pydantic model. Then
            the schema is derived from the type, and values are read as that type.
        type: the type of the values that are read, if `schema` is not a type.
        registry: the schema registry.
        subject: the name under which this schema is registered. The default is `<topic>-key` or `<topic>-value`; in
            stores and internal topics, the title of the schema, or the name of the type.
        auto_register: whether to register the schema with the first value written; if not, it must be registered
            already.
        validate: whether to validate values. The schema is registered in any case.

    Raises:
        SerdeError: if `schema` is not a JSON Schema, or confluent-kafka or jsonschema is not installed.

    Example:
        >>> from dataclasses import dataclass
        >>> from headrace import serdes
        >>> @dataclass
        ... class Page:
        ...     path: str
        >>> serde = JsonSchema(Page, registry=serdes.Registry("mock://pages"))
        >>> serde.serialize(Page("/"))
        b'\x00\x00\x00\x00\x01{"path":"/"}'
        >>> serde.deserialize(b'\x00\x00\x00\x00\x01{"path":"/"}')
        Page(path='/')
    """

    @overload
    def __init__(
        self: JsonSchema[Any],
        schema: str | Mapping[str, Any],
        type: None = None,
        *,
        registry: Registry,
        subject: str | None = None,
        auto_register: bool = True,
        validate: bool = True,
    ) -> None: ...
    @overload
    def __init__(
        self,
        schema: str | Mapping[str, Any],
        type: Callable[..., T],
        *,
        registry: Registry,
        subject: str | None = None,
        auto_register: bool = True,
        validate: bool = True,
    ) -> None: ...
    @overload
    def __init__(
        self,
        schema: Callable[..., T],
        type: None = None,
        *,
        registry: Registry,
        subject: str | None = None,
        auto_register: bool = True,
        validate: bool = True,
    ) -> None: ...
    def __init__(
        self,
        schema: Any,
        type: Any = None,  # noqa: A002
        *,
        registry: Registry,
        subject: str | None = None,
        auto_register: bool = True,
        validate: bool = True,
    ) -> None:
        is_schema = isinstance(schema, str | Mapping)
        self._schema = _load(schema) if is_schema else _schema_of(schema)
        self._type = type if is_schema else schema
        self._validate = validate
        super().__init__(registry, subject, auto_register=auto_register)

    @cached_property
    def _codec(self) -> RegisteredJson:
        subject = self._subject_or(self._schema.get("title"))
        assert subject is not None
        return RegisteredJson(self._schema, Json(self._type), subject, validate=self._validate)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._schema.get('title', '…')!r}, registry=…)"


class RegisteredJson:
    """JSON in Confluent's wire format: the id of the writer's schema, then JSON."""

    def __init__(self, schema: dict[str, Any], values: Json[Any], subject: Subject, *, validate: bool) -> None:
        self._text = json.dumps(schema)
        self._values = values
        self._subject = subject
        self._validator = _validator(schema) if validate else None
        self._id: int | None = None
        self._known_ids: set[int] = set()

    def write(self, value: Any) -> bytes:
        payload = encode(value)
        self._check(payload)
        if self._id is None:
            from confluent_kafka.schema_registry import Schema

            self._id = self._subject.id_of(Schema(self._text, "JSON"))
        return add_header(self._id, payload)

    def read(self, data: bytes) -> Any:
        schema_id, payload = split_header(data)
        if schema_id not in self._known_ids:
            self._subject.registry.schema(schema_id, "JSON")
            self._known_ids.add(schema_id)
        try:
            self._check(payload)
            return self._values.deserialize(payload)
        except Exception as error:
            message = f"written with schema {schema_id}: {error}"
            raise SerdeError(message) from error

    def _check(self, payload: bytes) -> None:
        if self._validator is None:
            return
        for problem in self._validator.iter_errors(msgspec.json.decode(payload)):
            message = f"the schema does not allow {problem.json_path}: {problem.message}"
            raise ValueError(message)


def _validator(schema: dict[str, Any]) -> Any:
    library = import_optional("jsonschema", extra="registry", user="JsonSchema")
    kind = library.validators.validator_for(schema)
    try:
        kind.check_schema(schema)
    except library.SchemaError as error:
        message = f"JsonSchema: this is not a JSON Schema: {error.message}"
        raise SerdeError(message) from error
    return kind(schema)


def _load(schema: str | Mapping[str, Any]) -> dict[str, Any]:
    try:
        data = json.loads(schema) if isinstance(schema, str) else dict(schema)
    except ValueError as error:
        message = f"JsonSchema: this is not JSON: {error}"
        raise SerdeError(message) from error
    if not isinstance(data, dict):
        message = f"JsonSchema: a schema is a JSON object, not {data!r}"
        raise SerdeError(message)
    return data


def _schema_of(kind: Any) -> dict[str, Any]:
    """Derives the schema of a type, with the type's name as its title."""
    try:
        schema: dict[str, Any] = kind.model_json_schema() if is_model(kind) else msgspec.json.schema(kind)
    except TypeError as error:
        message = f"JsonSchema({kind!r}): cannot derive a schema from that type, so pass a schema: {error}"
        raise SerdeError(message) from error
    return {"title": getattr(kind, "__name__", str(kind)), **schema}
