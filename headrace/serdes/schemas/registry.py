"""A Confluent Schema Registry, and the wire format of values whose schemas it holds.

The wire format is a zero byte, the id of the schema in 4 bytes, big-endian, and the value, written with that schema.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from headrace._secrets import hide_in_text
from headrace.errors import RegistryError, SerdeError
from headrace.serdes.schemas.optional import import_optional

_HEADER = struct.Struct(">bI")
_MAGIC = 0
_NOT_FOUND = 404

# One client per registry and process: it has connections, and caches schemas.
_clients: dict[Registry, Any] = {}
os.register_at_fork(after_in_child=_clients.clear)


class Registry:
    """A Confluent Schema Registry, where serdes register and look up schemas.

    Serdes with equal registries share one client in each process, so every schema is requested once.
    `mock://<name>` is a registry in this process's memory, for tests with the test driver.

    Args:
        url: the address of the registry, or several, separated by commas.
        settings: more settings of confluent-kafka's `SchemaRegistryClient`, such as `basic.auth.user.info`,
            `ssl.ca.location` or `max.retries`. They are sent to Spark's workers, and never shown.

    Raises:
        SerdeError: if confluent-kafka is not installed, or refuses the settings.

    Example:
        >>> Registry("https://registry.example.com", {"basic.auth.user.info": "app:secret"})
        Registry('https://registry.example.com')
    """

    def __init__(self, url: str, settings: Mapping[str, Any] | None = None) -> None:
        self._settings = {"url": url, **(settings or {})}
        self._client()

    def id_of(self, subject: str, schema: Any, *, register: bool) -> int:
        """The id of a schema under a subject; with `register`, the schema is registered if it is new.

        Raises:
            RegistryError: if the registry refuses, or does not answer.
        """
        client = self._client()
        if register:
            with self._translate_errors(f"register a schema under subject {subject!r}"):
                registered_id: int = client.register_schema(subject, schema)
            return registered_id
        hint = " Register it, or let the serde do so: auto_register=True."
        with self._translate_errors(f"look up a schema under subject {subject!r}", hint):
            schema_id: int = client.lookup_schema(subject, schema).schema_id
        return schema_id

    def version_of(self, subject: str, schema: Any) -> int:
        """The version of a registered schema under its subject."""
        with self._translate_errors(f"look up the version of a schema of {subject!r}"):
            version: int = self._client().lookup_schema(subject, schema).version
        return version

    def schema(self, schema_id: int, kind: str, form: str | None = None) -> Any:
        """Looks up the schema with an id. `kind` is its expected type, such as "AVRO"; `form` is the format to request.

        Raises:
            SerdeError: if there is no schema with that id, or its type is another one.
            RegistryError: if the registry does not answer.
        """
        client = self._client()
        try:
            with self._translate_errors(f"look up schema {schema_id}"):
                schema = client.get_schema(schema_id, fmt=form)
        except RegistryError as error:
            if getattr(error.__cause__, "http_status_code", None) == _NOT_FOUND:
                message = f"written with schema {schema_id}, which {self!r} does not have"
                raise SerdeError(message) from error
            raise
        if schema.schema_type != kind:
            message = f"written with schema {schema_id} of {self!r}, whose type is {schema.schema_type}, not {kind}"
            raise SerdeError(message)
        return schema

    def referenced(self, reference: Any) -> Any:
        """Looks up the schema that another one refers to."""
        with self._translate_errors(f"look up version {reference.version} of subject {reference.subject!r}"):
            return self._client().get_version(reference.subject, reference.version, deleted=True).schema

    def _client(self) -> Any:
        client = _clients.get(self)
        if client is None:
            library = import_optional("confluent_kafka.schema_registry", extra="registry", user="Registry")
            try:
                client = library.SchemaRegistryClient.new_client(dict(self._settings))
            except (ValueError, TypeError) as error:
                message = f"{self!r} has invalid settings: {hide_in_text(str(error))}"
                raise SerdeError(message) from None  # the client's error shows the address with its password
            client = _clients.setdefault(self, client)
        return client

    @contextmanager
    def _translate_errors(self, request: str, hint: str = "") -> Iterator[None]:
        from confluent_kafka.schema_registry import SchemaRegistryError

        try:
            yield
        except SchemaRegistryError as error:
            message = f"{self!r} was asked to {request} and refused: {error}.{hint}"
            raise RegistryError(message) from error
        except Exception as error:
            message = f"{self!r} was asked to {request} and did not answer: {type(error).__name__}: {error}"
            raise RegistryError(message) from error

    def __repr__(self) -> str:
        return f"Registry({','.join(map(_without_credentials, self._settings['url'].split(',')))!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Registry) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(self._settings["url"])


class Subject:
    """The name under which a serde's schema is registered, and whether the serde may register it."""

    def __init__(self, registry: Registry, name: str, *, auto_register: bool) -> None:
        self.registry = registry
        self.name = name
        self.auto_register = auto_register

    @classmethod
    def of(
        cls, user: str, registry: Registry | None, subject: str | None, record_name: str | None, auto_register: bool
    ) -> Subject | None:
        """Creates the subject of a serde, named `subject` or else `record_name`; `None` without a registry.

        `user` is the serde's `repr`, for errors.

        Raises:
            SerdeError: if there is neither a subject nor a record name, or a subject without a registry.
        """
        if registry is None:
            if subject is not None:
                message = f"{user}: subject={subject!r} needs a registry; pass one: registry=serdes.Registry(url)"
                raise SerdeError(message)
            return None
        if subject is None and record_name is None:
            message = f"{user}: a schema without a name needs a subject, e.g. subject='orders-value'"
            raise SerdeError(message)
        return cls(registry, subject or str(record_name), auto_register=auto_register)

    def id_of(self, schema: Any) -> int:
        return self.registry.id_of(self.name, schema, register=self.auto_register)


def add_header(schema_id: int, payload: bytes) -> bytes:
    """Puts the header of the wire format, with the id of the schema, before the bytes of a value."""
    return _HEADER.pack(_MAGIC, schema_id) + payload


def split_header(data: bytes) -> tuple[int, bytes]:
    """Splits data in the wire format into the id of the schema and the bytes of the value."""
    if len(data) < _HEADER.size or data[0] != _MAGIC:
        problem = f"begins with {data[0]}" if data and data[0] != _MAGIC else f"has {len(data)} bytes"
        message = f"a schema registry's wire format is a 0, the id of a schema in 4 bytes, and the data; this {problem}"
        raise ValueError(message)
    return _HEADER.unpack_from(data)[1], data[_HEADER.size :]


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return hide_in_text(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")))
