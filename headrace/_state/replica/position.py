"""The position of a task's state: a version, which counts the batches that changed it, and a random nonce."""

from __future__ import annotations

import os
import struct
from typing import NamedTuple

_FORM = struct.Struct(">Q8s")
_NONCE_BYTES = 8


class Position(NamedTuple):
    """Identifies the content of a task's state: its version, and a nonce of the attempt that wrote it.

    Equal positions mean equal content: two attempts at the same version have different nonces.
    """

    version: int
    nonce: bytes

    def next(self) -> Position:
        """Returns the position of the next version, with a new random nonce."""
        return Position(self.version + 1, os.urandom(_NONCE_BYTES))

    def to_bytes(self) -> bytes:
        return _FORM.pack(*self)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Position:
        return cls(*_FORM.unpack(raw))


ORIGIN = Position(0, bytes(_NONCE_BYTES))
