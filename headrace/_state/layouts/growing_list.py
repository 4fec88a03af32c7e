"""A list of times and values under one key of a store, stored in parts of bounded size.

A part that has grown long is closed and a new part begun, so the cost of an append does not depend on the length of the
list. In the store, the closed parts come after the open one, ordered by the latest time in each, so a read can skip
those that are too early.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import itemgetter

import msgspec

from headrace._state.bytes.api import ByteStore, prefix_end
from headrace._state.bytes.composite import time_bytes

TimedValue = tuple[int, bytes]

_LONG = 1024  # a part of at least this many bytes is closed
# The open part: the number of closed ones, then a MessagePack list of its entries, with the header of "array 32".
_HEAD = struct.Struct(">IBI")
_LIST = 4  # the offset of the MessagePack list
_LIST_OF = 0xDD
_NONE_CLOSED = bytes(_LIST)
_NUMBER = struct.Struct(">I")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[TimedValue]).decode
_time = itemgetter(0)


def append(contents: ByteStore, entry_key: bytes, entries: Sequence[TimedValue]) -> None:
    """Appends entries to the list under `entry_key`; creates the list if there is none."""
    present = contents.get(entry_key)
    closed, _, count = (0, 0, 0) if present is None else _HEAD.unpack_from(present)
    part = b"" if present is None else present[_HEAD.size :]
    encoded = list(map(_encode, entries))
    if len(part) + sum(map(len, encoded)) < _LONG:
        part += b"".join(encoded)
        count += len(encoded)
    else:
        for entry in encoded:
            if len(part) >= _LONG:
                closed += 1
                _close(contents, entry_key, closed, _HEAD.pack(0, _LIST_OF, count)[_LIST:] + part)
                part, count = b"", 0
            part += entry
            count += 1
    contents.put(entry_key, _HEAD.pack(closed, _LIST_OF, count) + part)


def entries_from(contents: ByteStore, entry_key: bytes, raw: bytes, from_ms: int) -> list[TimedValue]:
    """The entries of a list, in the order they were added; entries before `from_ms` may be missing.

    `raw` is the value under `entry_key`, which the caller has read.
    """
    found: list[TimedValue] = []
    if not raw.startswith(_NONE_CLOSED):
        parts = contents.range(entry_key + time_bytes(from_ms), prefix_end(entry_key))
        for _, part in sorted((at[-_NUMBER.size :], part) for at, part in parts):
            found += _decode(part)
    found += _decode(raw[_LIST:])
    return found


def _close(contents: ByteStore, entry_key: bytes, number: int, part: bytes) -> None:
    contents.put(entry_key + time_bytes(max(map(_time, _decode(part)))) + _NUMBER.pack(number), part)
