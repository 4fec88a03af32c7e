"""Headers in front of a stored value: their length in 4 bytes, then MessagePack; no headers take 4 bytes."""

from __future__ import annotations

import struct

import msgspec

from headrace.errors import StateError
from headrace.model.record import Headers

_LENGTH = struct.Struct(">I")
_NONE = _LENGTH.pack(0)
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[tuple[str, bytes | None], ...]).decode


def encode_headers(headers: Headers) -> bytes:
    """The stored form of headers.

    Example:
        >>> decode_headers(encode_headers((("trace", b"t1"),)) + b"value", 0)
        ((('trace', b't1'),), 16)
    """
    if not headers:
        return _NONE
    for name, value in headers:
        if not isinstance(name, str) or not isinstance(value, bytes | None):
            message = f"The header {(name, value)!r} cannot be stored: its name must be a str, its value bytes or None."
            raise StateError(message)
    encoded = _encode(headers)
    return _LENGTH.pack(len(encoded)) + encoded


def decode_headers(stored: bytes, offset: int) -> tuple[Headers, int]:
    """Decodes the headers at `offset` in a stored value; returns them and the offset at which the value begins."""
    (length,) = _LENGTH.unpack_from(stored, offset)
    start = offset + _LENGTH.size
    return (_decode(stored[start : start + length]) if length else ()), start + length
