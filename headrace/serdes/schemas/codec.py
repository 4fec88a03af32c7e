"""Serdes that delegate to a codec, an object that each process creates for itself and that is never pickled."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, Protocol, Self, TypeVar

from headrace.serdes.base import Serde, TopicPart
from headrace.serdes.schemas.registry import Registry, Subject

T = TypeVar("T")


class Codec(Protocol):
    """Converts values to bytes and back; may hold clients, parsed schemas and caches."""

    def write(self, value: Any) -> bytes: ...
    def read(self, data: bytes) -> Any: ...


class CodecSerde(Serde[T], Generic[T]):
    """A serde that delegates to a codec. It is compared and pickled by its arguments.

    With a registry and without a `subject`, its schema is registered under a subject named after the topic, as
    Confluent's serializers do by default: `orders-value` for the values of the topic `orders`.
    """

    def __init__(self, registry: Registry | None, subject: str | None, *, auto_register: bool) -> None:
        """Creates the codec: subclasses call this last, when they have set what their codec needs."""
        self._registry = registry
        self._subject = subject
        self._auto_register = auto_register
        self._codec  # noqa: B018  creates the codec now, so that wrong arguments fail here

    @cached_property
    def _codec(self) -> Codec:
        raise NotImplementedError

    def _subject_or(self, record_name: str | None) -> Subject | None:
        """The subject of the schema, by default the name of the record; `None` without a registry."""
        return Subject.of(repr(self), self._registry, self._subject, record_name, self._auto_register)

    def _to_bytes(self, value: T) -> bytes:
        return self._codec.write(value)

    def _from_bytes(self, data: bytes) -> T:
        value: T = self._codec.read(data)
        return value

    def for_topic(self, topic: str, part: TopicPart) -> Self:
        """This serde; or a copy with the subject of the topic, if it has a registry and no subject."""
        if self._registry is None or self._subject is not None:
            return self
        copy = type(self).__new__(type(self))
        vars(copy).update(self.__getstate__(), _subject=f"{topic}-{part}")
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {name: argument for name, argument in vars(self).items() if name != "_codec"}

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other) and isinstance(other, CodecSerde) and self.__getstate__() == other.__getstate__()
        )

    def __hash__(self) -> int:
        return hash(type(self))
