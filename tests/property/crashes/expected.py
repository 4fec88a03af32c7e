"""The input, and what the application makes of it when nothing fails."""

from __future__ import annotations

from typing import NamedTuple

PARTITIONS = 2


class Counted(NamedTuple):
    """The output for one input record: its partition, offset and key, and the count of the key; after 7 it restarts."""

    partition: int
    offset: int
    key: str
    count: int


class ExpectedRun:
    """The results of one partition when nothing fails: the output, and the store after each record."""

    def __init__(self, partition):
        self.output, self.stores = [], [{}]
        self._partition = partition

    def up_to(self, end):
        while len(self.output) < end:
            offset, store = len(self.output), dict(self.stores[-1])
            key = f"k{(offset * 7 + offset // 3 + self._partition) % 5}"
            store[key.encode()] = store.get(key.encode(), 0) + 1
            self.output.append(Counted(self._partition, offset, key, store[key.encode()]))
            if store[key.encode()] == 7:
                del store[key.encode()]
            self.stores.append(store)
        return self


EXPECTED = [ExpectedRun(partition) for partition in range(PARTITIONS)]


def contents(partition, offset):
    """The expected store of a task that has read up to an offset."""
    stored = EXPECTED[partition].up_to(offset).stores[offset]
    return {key: b"%d" % number for key, number in stored.items()}
