"""The byte format of changes of a table's rows, as they are sent through a repartition topic."""

from __future__ import annotations

import struct
from copy import copy
from typing import Any, Generic, Self

from headrace.model.record import Change
from headrace.model.type_variables import TypeVar
from headrace.serdes.base import Serde
from headrace.serdes.wrapping.wrapping import Wrapping

T = TypeVar("T", default=Any)

_ONLY_OLD, _ONLY_NEW, _BOTH = b"\x00", b"\x01", b"\x02"
_LENGTH = struct.Struct(">i")


class ChangeEvent(Wrapping[Change[T]], Generic[T]):
    """A `Change` of a table's row, as it is sent from a grouped table to its groups (KIP-904).

    The last byte says which values there are: `old | 0`, `new | 1`, or `length of new, 4 bytes big-endian | new |
    old | 2`. All three forms can be read. A change whose values are both `None` is refused.

    `is_latest` is not written: every change that is read has `is_latest=True`. In stores and internal topics, a change
    with `is_latest=False` is therefore refused.

    Args:
        inner: serde of the values.

    Example:
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> serdes.ChangeEvent(serdes.String()).serialize(hr.Change("ab", "c")).hex(" ")
        '00 00 00 02 61 62 63 02'
        >>> serdes.ChangeEvent(serdes.String()).deserialize(bytes.fromhex("63 00"))
        Change(new=None, old='c', is_latest=True)
    """

    _canonical_like_inner = True

    def __init__(self, inner: Serde[T] | None = None) -> None:
        super().__init__(inner)
        self._only_latest = False

    def read_back(self) -> Self:
        """A copy that refuses changes with `is_latest=False`, and whose inner serde refuses what it would change."""
        if self._only_latest:
            return super().read_back()
        strict = copy(super().read_back())
        strict._only_latest = True
        return strict

    def _to_bytes(self, value: Change[T]) -> bytes:
        if not isinstance(value, Change):
            raise TypeError("expected a Change of a new and an old value")
        if self._only_latest and not value.is_latest:
            raise ValueError("is_latest=False is not written, so the change would be read back with is_latest=True")
        new, old = self.inner.serialize(value.new), self.inner.serialize(value.old)
        if new is not None and old is not None:
            return b"%b%b%b%b" % (_LENGTH.pack(len(new)), new, old, _BOTH)
        if new is not None:
            return new + _ONLY_NEW
        if old is not None:
            return old + _ONLY_OLD
        raise ValueError("a change needs a new value or an old one; both are None")

    def _from_bytes(self, data: bytes) -> Change[T]:
        if not data:
            raise ValueError("a change has at least one byte, its flag; this is empty")
        read, flag = self.inner.deserialize, data[-1:]
        if flag == _ONLY_NEW:
            return Change(read(data[:-1]), None)
        if flag == _ONLY_OLD:
            return Change(None, read(data[:-1]))
        if flag != _BOTH:
            message = f"unknown flag {flag[0]} at the end of a change; known are 0 (old), 1 (new) and 2 (both)"
            raise ValueError(message)
        if len(data) <= _LENGTH.size:
            message = f"a change of old and new value has at least 5 bytes; this has {len(data)}"
            raise ValueError(message)
        length = _LENGTH.unpack_from(data)[0]
        middle = _LENGTH.size + length
        if length < 0 or middle >= len(data):
            message = f"a change says its new value has {length} bytes, but only {len(data) - 5} follow"
            raise ValueError(message)
        return Change(read(data[_LENGTH.size : middle]), read(data[middle:-1]))
