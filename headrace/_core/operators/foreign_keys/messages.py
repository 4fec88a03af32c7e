"""What travels between the two sides of a join by foreign key. It never leaves the application."""

from __future__ import annotations

from enum import IntEnum
from typing import Generic, TypeVar

import msgspec

from headrace.serdes.base import Serde

S = TypeVar("S", bound=msgspec.Struct)


class Instruction(IntEnum):
    """What the side of the foreign key does with a row: keep or forget it, and what to answer."""

    FORGET = 0
    """Forget the row, without an answer."""
    FORGET_AND_DELETE = 1
    """Forget the row, and answer that its result is deleted."""
    ANSWER_IF_FOUND = 2
    """Keep the row, and answer if the foreign row is there."""
    ANSWER = 3
    """Keep the row, and answer with the foreign row or without."""


class Subscription(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A row of the left table, for the side of its foreign key; key and value as bytes of that table's serdes.

    `number` counts the changes of the left table that follow from one input record, from 1 on.
    """

    instruction: Instruction
    key: bytes
    value: bytes | None
    number: int


class Answer(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Both values of a result, as bytes of their tables' serdes; without a left one the result is deleted.

    `number` is that of the left row if it follows from the same input record as the answer, else 0: of answers from
    different sides, which may overtake each other, a lower number is out of date.
    """

    left: bytes | None
    right: bytes | None
    number: int


class Keyed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record of a stream on its way to the row of another key; key and value as bytes of the stream's serdes."""

    key: bytes | None
    value: bytes


class Packed(Serde[S], Generic[S]):
    """One of these structures as bytes.

    Example:
        >>> Packed(Answer).deserialize(Packed(Answer).serialize(Answer(b"l", None, 1)))
        Answer(left=b'l', right=None, number=1)
    """

    def __init__(self, kind: type[S]) -> None:
        self.kind = kind

    def _to_bytes(self, value: S) -> bytes:
        return msgspec.msgpack.encode(value)

    def _from_bytes(self, data: bytes) -> S:
        return msgspec.msgpack.decode(data, type=self.kind)

    def __repr__(self) -> str:
        return f"Packed({self.kind.__name__})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Packed) and other.kind is self.kind

    def __hash__(self) -> int:
        return hash((Packed, self.kind))
