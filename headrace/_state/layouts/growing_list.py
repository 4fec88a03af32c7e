"""A list of times and values that grows at one place of a store, in parts of bounded size.

A part that has grown long is closed and the next one begun, so what an entry more costs does not depend on how many
there are. Closed parts lie behind the open one by the latest time they hold: a read passes over those too early for it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import itemgetter

import msgspec

from headrace._state.bytes.api import ByteStore, prefix_end
from headrace._state.bytes.composite import time_bytes

Entry = tuple[int, bytes]

_LONG = 1024  # bytes from which on a part is closed
_HEAD = struct.Struct(">IBI")  # how many parts were closed before; of how many entries this one is, as MessagePack
_LIST = 4  # from here on it is MessagePack
_LIST_OF = 0xDD
_NONE_CLOSED = bytes(_LIST)
_NUMBER = struct.Struct(">I")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Entry]).decode
_time = itemgetter(0)


def append(contents: ByteStore, place: bytes, entries: Sequence[Entry]) -> None:
    """Adds entries at the end of the list at a place, which begins with the first ones."""
    present = contents.get(place)
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
                _close(contents, place, closed, _HEAD.pack(0, _LIST_OF, count)[_LIST:] + part)
                part, count = b"", 0
            part += entry
            count += 1
    contents.put(place, _HEAD.pack(closed, _LIST_OF, count) + part)


def entries_from(contents: ByteStore, place: bytes, raw: bytes, from_ms: int) -> list[Entry]:
    """Entries of the list with these bytes at its place, in the order they were added; earlier ones may be missing."""
    found: list[Entry] = []
    if not raw.startswith(_NONE_CLOSED):
        parts = contents.range(place + time_bytes(from_ms), prefix_end(place))
        for _, part in sorted((at[-_NUMBER.size :], part) for at, part in parts):
            found += _decode(part)
    found += _decode(raw[_LIST:])
    return found


def _close(contents: ByteStore, place: bytes, number: int, part: bytes) -> None:
    contents.put(place + time_bytes(max(map(_time, _decode(part)))) + _NUMBER.pack(number), part)
