"""Protocol Buffers, by themselves or with a schema registry."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from headrace.errors import SerdeError
from headrace.serdes._optional import needed
from headrace.serdes.coded import Coded
from headrace.serdes.registry import Registry, Subject, framed, unframed

T = TypeVar("T")

# Files that every registry has, as Confluent's serializers see it.
_KNOWN_FILES = ("google/protobuf/", "google/type/", "confluent/")


class Protobuf(Coded[T], Generic[T]):
    """Messages of one generated class. Maps are written in the order of their keys, so equal messages are equal bytes.

    Without a registry, bytes are those of the message. With one they are in Confluent's wire format: the id of the
    writer's schema, then which message of that schema's file follows. Any message of the same full name is read; fields
    are matched by their numbers, as always with Protocol Buffers.

    Args:
        message: the class, as `protoc` generates it. Spark's workers must be able to import its module.
        registry: where schemas are kept. The files that this one imports are registered under their own names.
        subject: the name under which the file of this message is registered, e.g. `orders-value`. A serde does not know
            its topic; the default is the full name of the message.
        auto_register: whether schemas are registered with the first message written; if not, they must be there.

    Raises:
        SerdeError: if `message` is no class of messages.

    Example:
        >>> from google.protobuf.duration_pb2 import Duration
        >>> Protobuf(Duration).serialize(Duration(seconds=300)).hex(" ")
        '08 ac 02'
        >>> Protobuf(Duration).deserialize(bytes.fromhex("08 ac 02")).seconds
        300
    """

    def __init__(
        self,
        message: type[T],
        *,
        registry: Registry | None = None,
        subject: str | None = None,
        auto_register: bool = True,
    ) -> None:
        if not isinstance(message, type) or not hasattr(message, "DESCRIPTOR"):
            text = f"Protobuf takes a class that protoc generated, such as orders_pb2.Order, not {message!r}"
            raise SerdeError(text)
        self._message = message
        self._registry = registry
        self._subject = subject
        self._auto_register = auto_register
        self._codec  # noqa: B018  what is wrong with the arguments is said now

    @cached_property
    def _codec(self) -> PlainMessages:
        name = _descriptor(self._message).full_name
        subject = Subject.of(repr(self), self._registry, self._subject, name, self._auto_register)
        return PlainMessages(self._message) if subject is None else RegisteredMessages(self._message, subject)

    def __repr__(self) -> str:
        registry = "" if self._registry is None else ", registry=…"
        return f"{type(self).__name__}({_descriptor(self._message).full_name!r}{registry})"


class PlainMessages:
    """The bytes of messages alone."""

    def __init__(self, message: Any) -> None:
        self.message = message

    def write(self, value: Any) -> bytes:
        if not isinstance(value, self.message):
            message = f"expected a {_descriptor(self.message).full_name}"
            raise TypeError(message)
        written: bytes = value.SerializeToString(deterministic=True)
        return written

    def read(self, data: bytes) -> Any:
        return self.message.FromString(data)


class RegisteredMessages(PlainMessages):
    """Messages behind the id of the schema they were written with, and their place in its file."""

    def __init__(self, message: Any, subject: Subject) -> None:
        super().__init__(message)
        self._subject = subject
        self._indexes = _written_indexes(_path(_descriptor(message)))
        self._id: int | None = None
        self._files: dict[int, Any] = {}
        self._expected: set[tuple[int, tuple[int, ...]]] = set()

    def write(self, value: Any) -> bytes:
        payload = super().write(value)
        if self._id is None:
            self._id = self._subject.id_of(self._schema(_descriptor(self.message).file))
        return framed(self._id, self._indexes + payload)

    def read(self, data: bytes) -> Any:
        schema_id, rest = unframed(data)
        if schema_id not in self._files:
            self._files[schema_id] = self._file(schema_id)
        path, payload = _read_indexes(rest)
        if (schema_id, path) not in self._expected:
            self._expect(schema_id, path)
            self._expected.add((schema_id, path))
        try:
            return super().read(payload)
        except Exception as error:
            message = f"written with schema {schema_id}: {error}"
            raise SerdeError(message) from error

    def _schema(self, file: Any) -> Any:
        """A file as it is registered, those it imports first."""
        from confluent_kafka.schema_registry import Schema, SchemaReference

        references = []
        for imported in file.dependencies:
            if imported.name.startswith(_KNOWN_FILES):
                continue
            schema, registry = self._schema(imported), self._subject.registry
            registry.id_of(imported.name, schema, register=self._subject.auto_register)
            version = registry.version_of(imported.name, schema)
            references.append(SchemaReference(imported.name, imported.name, version))
        return Schema(base64.b64encode(file.serialized_pb).decode(), "PROTOBUF", references)

    def _file(self, schema_id: int) -> Any:
        """The file that the writer's message is in."""
        schema = self._subject.registry.schema(schema_id, "PROTOBUF", "serialized")
        descriptors = needed("google.protobuf.descriptor_pb2", extra="protobuf", user="Protobuf")
        try:
            return descriptors.FileDescriptorProto.FromString(base64.b64decode(schema.schema_str, validate=True))
        except ValueError as error:
            message = f"{self._subject.registry!r} gives schema {schema_id} in a form that cannot be read: {error}"
            raise SerdeError(message) from error

    def _expect(self, schema_id: int, path: tuple[int, ...]) -> None:
        """Refuses messages of another name than that of our class: they might be read, as something they are not."""
        file, wanted = self._files[schema_id], _descriptor(self.message).full_name
        try:
            name = ".".join(filter(None, [file.package, *_names(file.message_type, path)]))
        except IndexError:
            message = f"written with schema {schema_id}, which has no message at {list(path)}"
            raise SerdeError(message) from None
        if name != wanted:
            message = f"written with schema {schema_id}, this is a {name}, not a {wanted}"
            raise SerdeError(message)


def _descriptor(message: Any) -> Any:
    return message.DESCRIPTOR


def _path(descriptor: Any) -> list[int]:
    """Where a message is in its file: its index there, or that of the message it is in, and so on."""
    outer = descriptor.containing_type
    siblings = list(outer.nested_types if outer else descriptor.file.message_types_by_name.values())
    index = next(i for i, sibling in enumerate(siblings) if sibling.full_name == descriptor.full_name)
    return [*(_path(outer) if outer else []), index]


def _names(messages: Sequence[Any], path: tuple[int, ...]) -> Iterator[str]:
    for index in path:
        yield messages[index].name
        messages = messages[index].nested_type


def _written_indexes(path: list[int]) -> bytes:
    """Their number and each of them; the first message of a file, which is most common, is a single 0."""
    return b"\x00" if path == [0] else b"".join(map(_zigzag, [len(path), *path]))


def _zigzag(number: int) -> bytes:
    number, written = number << 1, bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def _read_indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """The path, and the message behind it."""
    count, at = _read_zigzag(data, 0)
    if count == 0:
        return (0,), data[at:]
    path: list[int] = []
    while len(path) < count:
        index, at = _read_zigzag(data, at)
        path.append(index)
    return tuple(path), data[at:]


def _read_zigzag(data: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while at < len(data):
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            if number & 1:
                raise ValueError("the place of the message in its schema is negative")
            return number >> 1, at
    raise ValueError("the data ends before it says which message of its schema it is")
