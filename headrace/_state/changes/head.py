"""The head of a task's durable state: where it stands, which deltas are kept, and which slices make up the base.

The base is a partition of the whole key space into regions. A region holds the live entries of its interval as of its
own version; a task starts with one empty region of version 0. So state is: every region, then every later delta.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from headrace._state.bytes.envelope import seal, unseal
from headrace._state.changes.keyspace import END, START
from headrace._state.replica.position import ORIGIN, Position
from headrace.errors import StateError


class LogEntry(NamedTuple):
    """A delta that is kept: the position it leads to, and its size before compression."""

    version: int
    nonce: bytes
    size: int

    @property
    def position(self) -> Position:
        return Position(self.version, self.nonce)


class Region(NamedTuple):
    """An interval of the key space, from the end of the region before it to `high` (exclusive).

    `slice_id` names the blob with its entries, which may hold entries beyond the interval; 0 is no blob and no entries.
    """

    high: bytes
    version: int
    slice_id: int = 0
    size: int = 0
    entries: int = 0


class Head(msgspec.Struct, frozen=True, array_like=True):
    """What one read tells about a task. `tail` is the position before the first delta kept."""

    position: Position = ORIGIN
    tail: Position = ORIGIN
    log: tuple[LogEntry, ...] = ()
    regions: tuple[Region, ...] = (Region(END, 0),)
    garbage: tuple[int, ...] = ()
    cursor: bytes | None = None
    next_slice: int = 1

    @property
    def floor(self) -> int:
        """The version up to which the base holds everything; deltas up to it are not needed any more."""
        return min(region.version for region in self.regions)

    def needed(self) -> tuple[LogEntry, ...]:
        """The deltas a restore has to read."""
        floor = self.floor
        return tuple(entry for entry in self.log if entry.version > floor)

    def missing(self, position: Position) -> tuple[LogEntry, ...] | None:
        """The deltas that lead from a position to the head; `None` if it is not on the chain that is kept."""
        chain = [self.tail, *(entry.position for entry in self.log)]
        return self.log[chain.index(position) :] if position in chain else None

    def encode(self) -> bytes:
        return seal(msgspec.msgpack.encode(self))

    @classmethod
    def decode(cls, blob: bytes, describe: str) -> Head:
        """The head of a blob.

        Raises:
            StateError: if the blob is damaged or of another format; the message starts with `describe`.
        """
        payload = unseal(blob, describe)
        try:
            return msgspec.msgpack.decode(payload, type=cls)
        except msgspec.MsgspecError as error:
            message = f"{describe}: the stored blob is whole but no head: {error}"
            raise StateError(message) from error


def intervals(regions: Sequence[Region]) -> Iterator[tuple[bytes, Region]]:
    """Each region with the place where it begins."""
    low = START
    for region in regions:
        yield low, region
        low = region.high


def cover(regions: Sequence[Region], low: bytes, new: Region) -> tuple[Region, ...]:
    """The partition with `new` laid over it from `low` on: what it covers goes, what it straddles is trimmed."""
    before = [region._replace(high=min(region.high, low)) for start, region in intervals(regions) if start < low]
    return (*before, new, *(region for region in regions if region.high > new.high))
