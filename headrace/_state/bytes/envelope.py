"""The envelope of every blob in durable state: a format version and a checksum, verified before the blob is used."""

from __future__ import annotations

import struct
import zlib

from headrace._formats import STATE_BLOB, unknown_format
from headrace.errors import StateError

_HEADER = struct.Struct(">BI")


def seal(payload: bytes | memoryview) -> bytes:
    """Prepends the format version and a checksum."""
    return b"".join((_HEADER.pack(STATE_BLOB, zlib.crc32(payload)), payload))


def unseal(blob: bytes, describe: str) -> memoryview:
    """Verifies a blob and returns its payload.

    Raises:
        StateError: if the blob is cut short, altered, or of another format; the message starts with `describe`.
    """
    if len(blob) < _HEADER.size:
        message = f"{describe}: the stored blob is cut short: it has {len(blob)} bytes. {_ADVICE}"
        raise StateError(message)
    form, checksum = _HEADER.unpack_from(blob)
    if form != STATE_BLOB:
        raise StateError(unknown_format(f"{describe}: the stored blob", form, STATE_BLOB))
    payload = memoryview(blob)[_HEADER.size :]
    actual = zlib.crc32(payload)
    if actual != checksum:
        message = f"{describe}: the checksum is {actual:08x} where {checksum:08x} was stored. {_ADVICE}"
        raise StateError(message)
    return payload


_ADVICE = "The state directory is damaged: restore it from a copy, or start again with an empty state_dir."
