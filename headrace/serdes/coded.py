"""Serdes whose work is done by an object that is made where it is needed, and never travels."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from headrace.serdes.base import Serde

T = TypeVar("T")


class Codec(Protocol):
    """Between values and bytes; may hold clients, parsed schemas and caches."""

    def write(self, value: Any) -> bytes: ...
    def read(self, data: bytes) -> Any: ...


class Coded(Serde[T], Generic[T]):
    """What such serdes share. They are compared and pickled by what they were given."""

    @cached_property
    def _codec(self) -> Codec:
        raise NotImplementedError

    def _to_bytes(self, value: T) -> bytes:
        return self._codec.write(value)

    def _from_bytes(self, data: bytes) -> T:
        value: T = self._codec.read(data)
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {name: given for name, given in vars(self).items() if name != "_codec"}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Coded) and self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        return hash(type(self))
