"""An index of one partition: which commits of the log hold which offsets."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

import msgspec


class Part(NamedTuple):
    """Consecutive records of a partition that one commit holds, at offsets `first` to `end`, exclusive.

    `position` is the byte offset of the commit in the log, `size` is in bytes on disk, and `newest_ms` is the highest
    timestamp.
    """

    first: int
    end: int
    position: int
    size: int
    newest_ms: int


class OffsetRange(NamedTuple):
    """Records of one partition at offsets `first` to `end`, exclusive."""

    topic: str
    partition: int
    first: int
    end: int


class PartitionState(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The state of a partition without its parts: the first offset, and the extent of the last compaction."""

    begin: int = 0
    compacted_end: int = 0
    compacted_records: int = 0
    commits_since_compaction: int = 0


class PartitionIndex:
    """The parts of one partition, by offset. A part takes only 32 bytes, because a log may have very many."""

    def __init__(self) -> None:
        self.begin = 0
        self._ends = array("q")
        self._positions = array("q")
        self._sizes = array("q")
        self._newest_ms = array("q")
        self._compacted_end = 0
        self._compacted_records = 0
        self._commits_since_compaction = 0

    @classmethod
    def restored(cls, state: PartitionState, parts: Iterable[Part]) -> Self:
        """Builds an index from a snapshot: the state of the partition, and its adjacent parts, sorted by offset."""
        index = cls()
        index.begin = state.begin
        index._compacted_end, index._compacted_records = state.compacted_end, state.compacted_records
        index._commits_since_compaction = state.commits_since_compaction
        for part in parts:
            index._insert(len(index._ends), len(index._ends), part)
        return index

    @property
    def state(self) -> PartitionState:
        return PartitionState(self.begin, self._compacted_end, self._compacted_records, self._commits_since_compaction)

    def __iter__(self) -> Iterator[Part]:
        return map(self._part, range(len(self._ends)))

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self._ends[-1] if self._ends else self.begin

    def add(self, rows: int, position: int, size: int, newest_ms: int) -> bool:
        """Appends the rows of a segment run from the commit at a position of the log.

        Returns whether they are a new part: all runs of one commit are one part.
        """
        if self._positions and self._positions[-1] == position:
            self._ends[-1] += rows
            self._sizes[-1] += size
            self._newest_ms[-1] = max(self._newest_ms[-1], newest_ms)
            return False
        self._insert(len(self._ends), len(self._ends), Part(self.end, self.end + rows, position, size, newest_ms))
        self._commits_since_compaction += 1
        return True

    def note_compaction(self, end: int, records: int) -> None:
        """Notes that a compaction of the records before offset `end` has left this number of them."""
        self._compacted_end, self._compacted_records, self._commits_since_compaction = end, records, 0

    def needs_compaction(self, commits: int) -> bool:
        """Whether at least half of the records are new since the last compaction, from at least `commits` commits."""
        added = self.end - self._compacted_end
        return self._commits_since_compaction >= commits and added >= self._compacted_records

    def between(self, start: int, end: int) -> list[Part]:
        """The parts that hold the records at offsets `start` to `end`, exclusive."""
        if start >= end:
            return []
        return [self._part(i) for i in range(bisect_right(self._ends, start), bisect_left(self._ends, end) + 1)]

    def parts_of(self, position: int) -> Iterator[Part]:
        """The parts that the commit at a position of the log holds."""
        at = 0
        while True:
            try:
                at = self._positions.index(position, at)
            except ValueError:
                return
            yield self._part(at)
            at += 1

    def replace(self, part: Part) -> list[Part]:
        """Replaces the parts that now hold the offsets of `part`, and returns them.

        `part` must begin where one of them begins and end where one ends. Otherwise the index would find some records
        in the wrong commit, because it stores only where parts end.
        """
        low, high = bisect_right(self._ends, part.first), bisect_left(self._ends, part.end) + 1
        replaced = [self._part(i) for i in range(low, high)]
        self._insert(low, high, part)
        return replaced

    def begin_within(self, oldest_ms: int | None, max_bytes: int | None) -> int:
        """The first offset to keep under a retention policy; a limit of `None` deletes nothing.

        A part at the beginning is deleted if all its records are older than `oldest_ms`, or if at least `max_bytes`
        remain without it.
        """
        begin, size = self.begin, 0 if max_bytes is None else sum(self._sizes)
        for part in self:
            is_too_old = oldest_ms is not None and part.newest_ms < oldest_ms
            is_too_much = max_bytes is not None and size - part.size >= max_bytes
            if not is_too_old and not is_too_much:
                break
            begin, size = part.end, size - part.size
        return begin

    def trim(self, begin: int) -> list[Part]:
        """Makes `begin` the first offset; removes and returns the parts that end at it or before it."""
        count = bisect_right(self._ends, begin)
        removed = [self._part(i) for i in range(count)]
        for column in self._columns:
            del column[:count]
        self.begin = begin
        return removed

    @property
    def _columns(self) -> tuple[array[int], ...]:
        return self._ends, self._positions, self._sizes, self._newest_ms

    def _insert(self, low: int, high: int, part: Part) -> None:
        for column, value in zip(self._columns, part[1:], strict=True):
            column[low:high] = array("q", [value])

    def _part(self, index: int) -> Part:
        first = self._ends[index - 1] if index else self.begin
        return Part(first, *(column[index] for column in self._columns))
