"""A sorted set of byte strings, in blocks, so that an insert moves the keys of one block and not of the whole set."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from itertools import chain

_BLOCK = 512


class SortedKeys:
    """A sorted set of keys that only grows."""

    __slots__ = ("_blocks", "_tops", "size")

    def __init__(self, keys: Collection[bytes] = ()) -> None:
        self._fill(keys)

    def add(self, keys: Collection[bytes]) -> None:
        """Adds keys; those already present are ignored."""
        # Above this ratio one sort of nearly sorted data is cheaper than inserting keys one by one.
        if len(keys) * 8 > self.size:
            self._fill([*chain.from_iterable(self._blocks), *keys])
        else:
            for key in keys:
                self._insert(key)

    def at_or_after(self, key: bytes) -> bytes | None:
        """The smallest key that is not less than `key`."""
        index = bisect_left(self._tops, key)
        if index == len(self._tops):
            return None
        block = self._blocks[index]
        return block[bisect_left(block, key)]

    def before(self, key: bytes | None) -> bytes | None:
        """The greatest key that is less than `key`; with `None`, the greatest of all."""
        index = len(self._tops) if key is None else bisect_left(self._tops, key)
        if key is not None and index < len(self._tops):
            block = self._blocks[index]
            slot = bisect_left(block, key)
            if slot:
                return block[slot - 1]
        return self._tops[index - 1] if index else None

    def _fill(self, keys: Collection[bytes]) -> None:
        ordered = list(dict.fromkeys(sorted(keys)))
        self.size = len(ordered)
        self._blocks = [ordered[i : i + _BLOCK] for i in range(0, len(ordered), _BLOCK)]
        self._tops = [block[-1] for block in self._blocks]

    def _insert(self, key: bytes) -> None:
        index = min(bisect_left(self._tops, key), len(self._tops) - 1)
        block = self._blocks[index]
        slot = bisect_left(block, key)
        if slot < len(block) and block[slot] == key:
            return
        block.insert(slot, key)
        self.size += 1
        self._tops[index] = block[-1]
        if len(block) > 2 * _BLOCK:
            self._blocks[index : index + 1] = [block[:_BLOCK], block[_BLOCK:]]
            self._tops[index : index + 1] = [block[_BLOCK - 1], block[-1]]
