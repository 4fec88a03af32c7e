"""A Confluent Schema Registry, and the wire format of what refers to its schemas.

Bytes are a 0, the id of the schema in 4 bytes, big-endian, and what was written with that schema.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from headrace.errors import RegistryError, SerdeError
from headrace.serdes._optional import needed

_HEADER = struct.Struct(">bI")
_MAGIC = 0
_NOT_FOUND = 404

# One client per registry and process: it has connections, and remembers what it was told.
_clients: dict[Registry, Any] = {}
os.register_at_fork(after_in_child=_clients.clear)


class Registry:
    """Where schemas are registered and looked up.

    Serdes that are given equal registries share one client in each process, so every schema is asked for once.
    `mock://<name>` is a registry in this process's memory, for tests with the test driver.

    Args:
        url: of the registry, or several, separated by commas.
        settings: further ones of confluent-kafka's `SchemaRegistryClient`, such as `basic.auth.user.info`,
            `ssl.ca.location` or `max.retries`. They travel to Spark's workers, and are never shown.

    Raises:
        SerdeError: if confluent-kafka is not installed, or does not take the settings.

    Example:
        >>> Registry("https://registry.example.com", {"basic.auth.user.info": "app:secret"})
        Registry('https://registry.example.com')
    """

    def __init__(self, url: str, settings: Mapping[str, Any] | None = None) -> None:
        self._settings = {"url": url, **(settings or {})}
        self._client()

    def id_of(self, subject: str, schema: Any, *, register: bool) -> int:
        """The id of a schema under a subject, registered if it is not and may be.

        Raises:
            RegistryError: if the registry does not give one; says why.
        """
        client = self._client()
        if register:
            with self._asking(f"register a schema under subject {subject!r}"):
                registered: int = client.register_schema(subject, schema)
            return registered
        hint = " Register it, or let the serde do so: auto_register=True."
        with self._asking(f"look up a schema under subject {subject!r}", hint):
            found: int = client.lookup_schema(subject, schema).schema_id
        return found

    def version_of(self, subject: str, schema: Any) -> int:
        """The version that a registered schema has under its subject."""
        with self._asking(f"look up the version of a schema of {subject!r}"):
            version: int = self._client().lookup_schema(subject, schema).version
        return version

    def schema(self, schema_id: int, kind: str, form: str | None = None) -> Any:
        """The schema with an id.

        Raises:
            SerdeError: if there is none with that id, or it is of another kind.
            RegistryError: if the registry cannot be asked.
        """
        client = self._client()
        try:
            with self._asking(f"look up schema {schema_id}"):
                found = client.get_schema(schema_id, fmt=form)
        except RegistryError as error:
            if getattr(error.__cause__, "http_status_code", None) == _NOT_FOUND:
                message = f"{self!r} knows no schema {schema_id}, with which this says it was written"
                raise SerdeError(message) from error
            raise
        if found.schema_type != kind:
            message = f"written with schema {schema_id} of {self!r}, whose type is {found.schema_type}, not {kind}"
            raise SerdeError(message)
        return found

    def referenced(self, reference: Any) -> Any:
        """The schema that another one refers to."""
        with self._asking(f"look up version {reference.version} of subject {reference.subject!r}"):
            return self._client().get_version(reference.subject, reference.version, deleted=True).schema

    def _client(self) -> Any:
        client = _clients.get(self)
        if client is None:
            library = needed("confluent_kafka.schema_registry", extra="registry", user="Registry")
            try:
                client = library.SchemaRegistryClient.new_client(dict(self._settings))
            except (ValueError, TypeError) as error:
                message = f"{self!r} does not take its settings: {error}"
                raise SerdeError(message) from error
            client = _clients.setdefault(self, client)
        return client

    @contextmanager
    def _asking(self, purpose: str, hint: str = "") -> Iterator[None]:
        from confluent_kafka.schema_registry import SchemaRegistryError

        try:
            yield
        except SchemaRegistryError as error:
            message = f"{self!r} was asked to {purpose} and refused: {error}.{hint}"
            raise RegistryError(message) from error
        except Exception as error:
            message = f"{self!r} was asked to {purpose} and did not answer: {type(error).__name__}: {error}"
            raise RegistryError(message) from error

    def __repr__(self) -> str:
        return f"Registry({','.join(map(_without_credentials, self._settings['url'].split(',')))!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Registry) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(self._settings["url"])


class Subject:
    """Under which name a serde's schema is registered, and whether the serde may do so."""

    def __init__(self, registry: Registry, name: str, *, auto_register: bool) -> None:
        self.registry = registry
        self.name = name
        self.auto_register = auto_register

    @classmethod
    def of(
        cls, user: str, registry: Registry | None, subject: str | None, record_name: str | None, auto_register: bool
    ) -> Subject | None:
        """That of a serde, if it uses a registry. Unless given, the subject is the name of the record.

        Raises:
            SerdeError: if there is neither a subject nor a name.
        """
        if registry is None:
            if subject is not None:
                message = f"{user}: subject={subject!r} needs a registry; give it one: registry=serdes.Registry(url)"
                raise SerdeError(message)
            return None
        if subject is None and record_name is None:
            message = f"{user}: a schema without a name needs a subject, e.g. subject='orders-value'"
            raise SerdeError(message)
        return cls(registry, subject or str(record_name), auto_register=auto_register)

    def id_of(self, schema: Any) -> int:
        return self.registry.id_of(self.name, schema, register=self.auto_register)


def framed(schema_id: int, payload: bytes) -> bytes:
    """What was written with a schema, with the id of that schema."""
    return _HEADER.pack(_MAGIC, schema_id) + payload


def unframed(data: bytes) -> tuple[int, bytes]:
    """The id of the schema, and what was written with it."""
    if len(data) < _HEADER.size or data[0] != _MAGIC:
        seen = f"begins with {data[0]}" if data and data[0] != _MAGIC else f"has {len(data)} bytes"
        message = f"a schema registry's wire format is a 0, the id of a schema in 4 bytes, and the data; this {seen}"
        raise ValueError(message)
    return _HEADER.unpack_from(data)[1], data[_HEADER.size :]


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
