"""Keys made of several parts, in bytes that order as the parts do.

The first byte says what an entry is. A user's key has its NULs escaped and an end mark, so that no key runs into what
follows it and a key orders before all that it is a prefix of; a time is 8 bytes, big-endian.
"""

from __future__ import annotations

import struct
from typing import Final

from headrace.errors import StateError

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

MAX_TIME: Final = (1 << 63) - 1
TIME_SIZE: Final = 8

_TIME = struct.Struct(">Q")
_END = b"\x00\x00"


def escaped(key: bytes) -> bytes:
    r"""A key as a part of a longer one.

    Example:
        >>> escaped(b"ab"), escaped(b"a\x00b")
        (b'ab\x00\x00', b'a\x00\xffb\x00\x00')
    """
    return key.replace(b"\x00", b"\x00\xff") + _END


def unescaped(part: bytes) -> bytes:
    """The key that `escaped` was given."""
    return part[: -len(_END)].replace(b"\x00\xff", b"\x00")


def leading_key(data: bytes) -> bytes:
    r"""The key whose escaped form some bytes start with.

    Example:
        >>> leading_key(escaped(b"a\x00b") + b"more")
        b'a\x00b'
    """
    return unescaped(data[: data.index(_END) + len(_END)])


def beyond(part: bytes) -> bytes:
    """The exclusive end of all that starts with an escaped key."""
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


def descending(time_ms: int) -> bytes:
    """A time in bytes that order the latest first; `ascending` reads them."""
    return time_bytes(MAX_TIME - time_ms)


def ascending(data: bytes, offset: int) -> int:
    return MAX_TIME - time_at(data, offset)


def clamped(from_ms: int, to_ms: int) -> tuple[bytes, bytes]:
    """The start (inclusive) and end (exclusive) of a span of times of which both ends are included."""
    return time_bytes(max(from_ms, 0)), time_bytes(min(max(to_ms, -1), MAX_TIME) + 1)
