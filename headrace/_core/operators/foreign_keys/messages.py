"""The messages between the two sides of a foreign-key join, which travel in internal topics only."""

from __future__ import annotations

from enum import IntEnum
from typing import Generic, TypeVar

import msgspec

from headrace.serdes.base import Serde

S = TypeVar("S", bound=msgspec.Struct)


class Instruction(IntEnum):
    """What the right side does with a subscription: keep or delete it, and whether to answer."""

    DELETE_SILENTLY = 0
    """Delete the subscription, without an answer."""
    DELETE_RESULT = 1
    """Delete the subscription, and answer that the result is deleted."""
    ANSWER_IF_MATCHED = 2
    """Keep the subscription, and answer if the foreign row exists."""
    ANSWER = 3
    """Keep the subscription, and answer whether or not the foreign row exists."""


class Subscription(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A row of the left table, sent to the right side; key and value in the bytes of the left table's serdes."""

    instruction: Instruction
    key: bytes
    value: bytes | None


class Answer(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An answer to a left row: the value of that row, and of the foreign row if it has one, both serialized.

    The left row may have changed since it was answered, if one input record changes it twice or changes both tables.
    `ForeignKeyResolve` compares `left` with the row, and ignores an answer to an older value.
    """

    left: bytes | None
    right: bytes | None


class KeyedRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The serialized key and value of a stream's record, on the way to the task of its foreign key."""

    key: bytes | None
    value: bytes


class Packed(Serde[S], Generic[S]):
    """Serde of one of these messages.

    Example:
        >>> Packed(Answer).deserialize(Packed(Answer).serialize(Answer(b"l", None)))
        Answer(left=b'l', right=None)
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
