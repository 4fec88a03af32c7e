"""The batch form of count in tumbling windows."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace._core import operators as ops
from headrace._core.columnar.batch import Batch, longs
from headrace._core.columnar.caching import CachedCounts
from headrace._core.columnar.groups import Groups, Ints
from headrace._core.drop_reasons import DropReason
from headrace._core.laws import last_closed_start
from headrace._state.stores.window import TypedTimestampedWindowStore
from headrace.model.windows import TimeWindows

_ABSENT = struct.pack(">qq", -1, 0)  # timestamp and count of a new window
_START = 8
_log = logging.getLogger(__name__)


class WindowCountForm:
    """Counts by the bytes of key and window start, which are also the bytes that `WindowedKey` writes to a topic.

    `forward` gets every update of a batch. With `cached`, the last update of each row goes to the record cache instead.
    """

    def __init__(
        self,
        operator: ops.TimeWindowCount,
        windows: TimeWindows,
        store: TypedTimestampedWindowStore[bytes, int],
        forward: Callable[[Batch], None],
        cached: CachedCounts | None = None,
    ) -> None:
        self._operator = operator
        self._windows = windows
        self._store = store
        self._forward = forward
        self._cached = cached

    def __call__(self, batch: Batch) -> None:
        batch = self._drop_null_keys(batch)
        if not len(batch.keys):
            return
        times, advances = self._operator.time.advance_many(batch.keys, batch.timestamps)
        batch, starts = self._drop_late(batch, times)
        if len(starts):
            self._count_all(batch._replace(keys=pc.binary_join_element_wise(batch.keys, longs(starts), b"")), starts)
        if len(advances.keys):
            self._operator.expire_many(advances)

    def _count_all(self, batch: Batch, starts: Ints) -> None:
        """Counts the records of a batch with windowed keys; with a cache, flushes it whenever it is full."""
        encoded = batch.keys.dictionary_encode()
        if self._cached is None:
            self._count(batch, starts, encoded)
            return
        for start, stop, full in self._cached.spans(encoded.dictionary.to_pylist(), encoded.indices.to_numpy(), batch):
            if stop - start == len(starts):
                self._count(batch, starts, encoded)
            else:
                span = batch.slice(start, stop)
                self._count(span, starts[start:stop], span.keys.dictionary_encode())
            if full:
                self._cached.flush()

    def _count(self, batch: Batch, starts: Ints, encoded: pa.DictionaryArray) -> None:
        distinct: list[bytes] = encoded.dictionary.to_pylist()
        rows = Groups(encoded.indices.to_numpy(), len(distinct))
        keys, first_ms = [key[:-_START] for key in distinct], rows.last(starts).tolist()
        entry_keys = self._store.entries.entry_keys(keys, first_ms)
        stored = self._store.contents.get_many(entry_keys)
        before = b"".join(raw or _ABSENT for raw in stored)
        timestamps, counts = np.frombuffer(before, ">i8").reshape(-1, 2).T.astype(np.int64)
        counted = rows.running_count(counts)
        latest = rows.running_max(batch.timestamps, timestamps)
        after = np.column_stack((rows.last(latest), rows.last(counted))).astype(">i8").tobytes()
        raws = [after[at : at + 16] for at in range(0, len(after), 16)]
        self._store.entries.put_many(first_ms, entry_keys, raws)
        updates = batch._replace(values=longs(counted), timestamps=latest)
        if self._cached is None:
            self._forward(updates)
        else:
            self._cached.add(distinct, stored, rows.last(np.arange(len(starts))), updates)

    def _drop_null_keys(self, batch: Batch) -> Batch:
        nulls = batch.keys.null_count
        if not nulls:
            return batch
        self._operator.context.drop(self._operator.name, DropReason.NULL_KEY, nulls)
        return batch.where(pc.is_valid(batch.keys))

    def _drop_late(self, batch: Batch, times: Ints) -> tuple[Batch, Ints]:
        """The records whose window is open, and the starts of their windows; counts the others as late."""
        size_ms = self._windows.size_ms
        starts: Ints = batch.timestamps - batch.timestamps % size_ms
        late = starts <= last_closed_start(times, size_ms, self._windows.wait_ms)
        number = int(np.count_nonzero(late))
        if not number:
            return batch, starts
        name = self._operator.name
        self._operator.context.drop(name, DropReason.LATE, number)
        _log.info("%s: %d records are late; stream time is %d.", name, number, times[-1])
        return batch.where(pa.array(~late)), starts[~late]
