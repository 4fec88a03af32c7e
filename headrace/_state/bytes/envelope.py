"""The envelope of every blob in durable state: a format version and a checksum, verified before the blob is used."""

from __future__ import annotations

import struct
import zlib

from headrace.errors import StateError

FORMAT = 1
_HEADER = struct.Struct(">BI")


def seal(payload: bytes | memoryview) -> bytes:
    """Prepends the format version and a checksum."""
    return b"".join((_HEADER.pack(FORMAT, zlib.crc32(payload)), payload))


def unseal(blob: bytes, describe: str) -> memoryview:
    """Verifies a blob and returns its payload.

    Raises:
        StateError: if the blob is cut short, altered, or of another format; the message starts with `describe`.
    """
    if len(blob) < _HEADER.size:
        message = f"{describe}: the stored blob is cut short: it has {len(blob)} bytes. {_ADVICE}"
        raise StateError(message)
    form, checksum = _HEADER.unpack_from(blob)
    if form != FORMAT:
        message = (
            f"{describe}: stored in format {form}, while this version of Headrace reads format {FORMAT}. "
            "Run it with the version that wrote it, or a later one."
        )
        raise StateError(message)
    payload = memoryview(blob)[_HEADER.size :]
    actual = zlib.crc32(payload)
    if actual != checksum:
        message = f"{describe}: the checksum is {actual:08x} where {checksum:08x} was stored. {_ADVICE}"
        raise StateError(message)
    return payload


_ADVICE = "The state directory is damaged: restore it from a copy, or start again with an empty state_dir."
