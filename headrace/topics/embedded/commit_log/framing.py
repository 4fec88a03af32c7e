"""The bytes of the commit log: each entry is a line with the length, the checksum and the text of a payload.

A shortened log begins with a preamble and a snapshot. The preamble is an entry, too: its payload has the generation of
the file, and how many bytes after it are the snapshot. Early versions of Headrace, which know no snapshots, refuse to
read such a log because of the format number in the preamble.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from headrace._formats import TOPICS_SNAPSHOT

HEADER = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8}) (?=\{)")
# What a crash can leave of an entry: a prefix of it, or zeros where its blocks were never written.
UNFINISHED = re.compile(rb"[0-9a-f]{0,8}(\0|\Z| [0-9a-f]{0,8}(\0|\Z| (\0|\Z|\{)))")
PREAMBLE_BYTES = 128  # more than any preamble has

_PREAMBLE = b'{"format":%d,"generation":%%d,"length":%%d}' % TOPICS_SNAPSHOT
_PREAMBLE_PATTERN = re.compile(re.escape(_PREAMBLE).replace(rb"%d", rb"(\d+)"))


class Preamble(NamedTuple):
    """The generation of a log, and the byte offset at which its snapshot ends; zeros for a log without a snapshot."""

    generation: int = 0
    snapshot_end: int = 0


def frame(payload: bytes) -> bytes:
    """Encodes a payload as an entry."""
    return b"%08x %08x %b\n" % (len(payload), zlib.crc32(payload), payload)


def framed_length(payload: bytes) -> int:
    """The length in bytes of the entry for a payload."""
    return len(b"00000000 00000000 ") + len(payload) + len(b"\n")


def payload_at(data: bytes, position: int) -> bytes | None:
    """The payload of the entry that starts at byte `position` of `data`; `None` if no intact entry starts there.

    So `None` has three possible causes, which callers must distinguish: the data ends there, the entry is incomplete,
    or it is damaged (its checksum is wrong).
    """
    header = HEADER.match(data, position)
    if header is None:
        return None
    start, length = header.end(), int(header[1], 16)
    payload = data[start : start + length]
    ended = data[start + length : start + length + 1] == b"\n"
    return payload if ended and zlib.crc32(payload) == int(header[2], 16) else None


def preamble_of(data: bytes) -> Preamble:
    """Decodes the preamble at the beginning of a log. A log without one has generation 0 and no snapshot."""
    payload = payload_at(data, 0)
    found = None if payload is None else _PREAMBLE_PATTERN.fullmatch(payload)
    if payload is None or found is None:
        return Preamble()
    return Preamble(int(found[1]), framed_length(payload) + int(found[2]))


def with_preamble(generation: int, snapshot: Iterable[bytes]) -> bytes:
    """Encodes a new log: a preamble, then a snapshot with one entry for each payload."""
    entries = b"".join(map(frame, snapshot))
    return frame(_PREAMBLE % (generation, len(entries))) + entries
