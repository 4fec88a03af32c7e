"""The head of a task's durable state: its position, the retained deltas, and the slices that make up the base.

The base divides the whole key space into regions. A region holds the live entries of its interval as of its own
version; a new task has one empty region of version 0. So the state is every region, then every later delta.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from headrace._state.bytes.envelope import seal, unseal
from headrace._state.changes.keyspace import END, START
from headrace._state.replica.position import ORIGIN, Position
from headrace.errors import StateError


class RetainedDelta(NamedTuple):
    """A retained delta: the position that it leads to, and its size before compression."""

    version: int
    nonce: bytes
    size: int

    @property
    def position(self) -> Position:
        return Position(self.version, self.nonce)


class Region(NamedTuple):
    """An interval of the key space, from the end of the region before it to `high` (exclusive).

    `slice_id` is the slice with its entries. The slice may also have entries outside the interval, where a later region
    has replaced a part of this one. 0 means that there is no slice, and the region is empty.
    """

    high: bytes
    version: int
    slice_id: int = 0
    size: int = 0
    entries: int = 0


class Head(msgspec.Struct, frozen=True, array_like=True):
    """The table of contents of a task's durable state.

    `tail` is the position before the first retained delta, `garbage` the slices to remove, `cursor` the full key at
    which a running compaction pass continues. `processors` are the pickled processors of the task. They are here, not
    in a store, because stores are read from the replica, which is a cache.
    """

    position: Position = ORIGIN
    tail: Position = ORIGIN
    deltas: tuple[RetainedDelta, ...] = ()
    regions: tuple[Region, ...] = (Region(END, 0),)
    garbage: tuple[int, ...] = ()
    cursor: bytes | None = None
    next_slice: int = 1
    processors: bytes | None = None

    @property
    def floor(self) -> int:
        """The version that every region has at least; deltas up to it are no longer needed."""
        return min(region.version for region in self.regions)

    def needed(self) -> tuple[RetainedDelta, ...]:
        """The deltas that a restore must read."""
        floor = self.floor
        return tuple(entry for entry in self.deltas if entry.version > floor)

    def missing(self, position: Position) -> tuple[RetainedDelta, ...] | None:
        """The deltas that lead from a position to the head; `None` if it is too old or was never committed."""
        chain = [self.tail, *(entry.position for entry in self.deltas)]
        return self.deltas[chain.index(position) :] if position in chain else None

    def encode(self) -> bytes:
        return seal(msgspec.msgpack.encode(self))

    @classmethod
    def decode(cls, blob: bytes, describe: str) -> Head:
        """Decodes a blob.

        Raises:
            StateError: if the blob is damaged or of another format; the message starts with `describe`.
        """
        payload = unseal(blob, describe)
        try:
            return msgspec.msgpack.decode(payload, type=cls)
        except msgspec.MsgspecError as error:
            message = f"{describe}: the stored blob has the right checksum, but is not a head: {error}"
            raise StateError(message) from error


def intervals(regions: Sequence[Region]) -> Iterator[tuple[bytes, Region]]:
    """Each region with the full key at which it begins."""
    low = START
    for region in regions:
        yield low, region
        low = region.high


def cover(regions: Sequence[Region], low: bytes, new: Region) -> tuple[Region, ...]:
    """The regions after `new` has replaced the interval from `low` to its end.

    Regions inside this interval disappear, and regions that overlap it are cut.
    """
    before = [region._replace(high=min(region.high, low)) for start, region in intervals(regions) if start < low]
    return (*before, new, *(region for region in regions if region.high > new.high))
