"""Entry keys made of several parts, encoded so that their bytes are ordered as the parts are.

The first byte is the kind of the entry. In a user's key, NULs are escaped, and two NULs mark its end. So the next part
cannot be mistaken for a part of the key, and a key is ordered before all keys that begin with it. A time is 8 bytes,
big-endian.
"""

from __future__ import annotations

import struct
from typing import Final

from headrace.errors import StateError
from headrace.model.time.end_of_time import END_OF_TIME_MS

STORE_TIME: Final = b"\x00"
ENTRY: Final = b"\x01"
SEQUENCE: Final = b"\x02"
KEY_TIME: Final = b"\x03"
SEGMENT_SIZE: Final = b"\x04"
LATEST: Final = b"\x05"
HISTORY: Final = b"\x06"
EXPIRY: Final = b"\x07"
BY_TIME: Final = b"\x08"
BY_KEY_AND_TIME: Final = b"\x09"
USAGE: Final = b"\x0a"
NEXT: Final = b"\x0b"

MAX_TIME: Final = END_OF_TIME_MS
TIME_SIZE: Final = 8

_TIME = struct.Struct(">Q")
_END = b"\x00\x00"


def escape_key(key: bytes) -> bytes:
    r"""Escapes a key and marks its end, so that it can be a part of an entry key.

    Example:
        >>> escape_key(b"ab"), escape_key(b"a\x00b")
        (b'ab\x00\x00', b'a\x00\xffb\x00\x00')
    """
    return key.replace(b"\x00", b"\x00\xff") + _END


def unescape_key(part: bytes) -> bytes:
    """Reverses `escape_key`."""
    return part[: -len(_END)].replace(b"\x00\xff", b"\x00")


def read_leading_key(data: bytes) -> bytes:
    r"""Reads the escaped key at the start of some bytes.

    Example:
        >>> read_leading_key(escape_key(b"a\x00b") + b"more")
        b'a\x00b'
    """
    return unescape_key(data[: data.index(_END) + len(_END)])


def end_of_key(part: bytes) -> bytes:
    """The exclusive end of the range of all entry keys that start with `part`, which ends with an escaped key."""
    return part[:-1] + b"\x01"


def time_bytes(time_ms: int) -> bytes:
    try:
        return _TIME.pack(time_ms)
    except struct.error as error:
        message = f"{time_ms!r} is not a time: expected a whole number of milliseconds since 1970, 0 or greater."
        raise StateError(message) from error


def time_at(data: bytes, offset: int) -> int:
    time_ms: int = _TIME.unpack_from(data, offset)[0]
    return time_ms


def descending_time_bytes(time_ms: int) -> bytes:
    """Encodes a time so that the latest is ordered first; `descending_time_at` decodes it."""
    return time_bytes(MAX_TIME - time_ms)


def descending_time_at(data: bytes, offset: int) -> int:
    return MAX_TIME - time_at(data, offset)


def time_range(from_ms: int, to_ms: int) -> tuple[bytes, bytes]:
    """Encodes a span of times, both ends inclusive, as the start (inclusive) and end (exclusive) of a key range."""
    return time_bytes(max(from_ms, 0)), time_bytes(min(max(to_ms, -1), MAX_TIME) + 1)
