"""The base of batch forms that count: every update that the record path emits, or the last ones, cached."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from headrace._core.columnar.batch import Batch, longs
from headrace._core.columnar.caching import CachedCounts
from headrace._core.columnar.groups import Groups

_ABSENT = struct.pack(">qq", -1, 0)  # timestamp and count of a new row
_ROW_SIZE = len(_ABSENT)


class GroupedBatch(NamedTuple):
    """A batch with its distinct keys, and its records grouped by them."""

    batch: Batch
    keys: list[bytes]
    groups: Groups


class StoredCounts(NamedTuple):
    """The rows of distinct keys, `None` for those that are new, and a function that stores the rows that follow."""

    rows: list[bytes | None]
    replace: Callable[[list[bytes]], None]


class CountingForm(ABC):
    """Counts by the bytes of the keys; `forward` gets every update as a batch of `serdes.Long()` values.

    With a cache, updates go to the cache instead.
    """

    def __init__(self, forward: Callable[[Batch], None], cached: CachedCounts | None) -> None:
        self._forward = forward
        self._cached = cached

    @abstractmethod
    def stored(self, records: GroupedBatch) -> StoredCounts:
        """Reads the rows of the keys of a batch."""

    def count(self, batch: Batch) -> None:
        """Counts the records of a batch; with a cache, flushes it whenever it is full."""
        encoded = batch.keys.dictionary_encode()
        if self._cached is None:
            self._count(batch, encoded)
            return
        for start, stop, full in self._cached.spans(encoded.dictionary.to_pylist(), encoded.indices.to_numpy(), batch):
            if stop - start == len(batch.keys):
                self._count(batch, encoded)
            else:
                span = batch.slice(start, stop)
                self._count(span, span.keys.dictionary_encode())
            if full:
                self._cached.flush()

    def _count(self, batch: Batch, encoded: pa.DictionaryArray) -> None:
        keys: list[bytes] = encoded.dictionary.to_pylist()
        groups = Groups(encoded.indices.to_numpy(), len(keys))
        before, replace = self.stored(GroupedBatch(batch, keys, groups))
        stored = b"".join(raw or _ABSENT for raw in before)
        times, counts = np.frombuffer(stored, ">i8").reshape(-1, 2).T.astype(np.int64)
        counted = groups.running_count(counts)
        latest = groups.running_max(batch.timestamps, times)
        rows = np.column_stack((groups.last(latest), groups.last(counted))).astype(">i8").tobytes()
        replace([rows[at : at + _ROW_SIZE] for at in range(0, len(rows), _ROW_SIZE)])
        updates = batch._replace(values=longs(counted), timestamps=latest)
        if self._cached is None:
            self._forward(updates)
        else:
            self._cached.add(keys, before, groups.last(np.arange(len(batch.keys))), updates)
