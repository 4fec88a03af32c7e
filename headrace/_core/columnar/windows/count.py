"""count in tumbling windows, for a whole batch."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace._core import operators as ops
from headrace._core.columnar.batch import Batch, longs
from headrace._core.columnar.caching import CachedCounts
from headrace._core.columnar.counting import CountingForm, GroupedBatch, StoredCounts
from headrace._core.columnar.groups import Ints
from headrace._core.drop_reasons import DropReason
from headrace._core.laws import last_closed_start
from headrace._state.stores.window import TypedTimestampedWindowStore
from headrace.model.time.windows import TimeWindows, last_start

_START = 8
_log = logging.getLogger(__name__)


class WindowCountForm(CountingForm):
    """Counts the records of each key and window.

    It counts by the bytes of key and window start, which are also the bytes that `WindowedKey` writes to a topic.
    """

    def __init__(
        self,
        operator: ops.TimeWindowCount,
        windows: TimeWindows,
        store: TypedTimestampedWindowStore[bytes, int],
        forward: Callable[[Batch], None],
        cached: CachedCounts | None,
    ) -> None:
        super().__init__(forward, cached)
        self._operator = operator
        self._windows = windows
        self._store = store

    def __call__(self, batch: Batch) -> None:
        batch = self._drop_null_keys(batch)
        if not len(batch.keys):
            return
        times, advances = self._operator.time.advance_many(batch.keys, batch.timestamps)
        batch, starts = self._drop_late(batch, times)
        if len(starts):
            self.count(batch._replace(keys=pc.binary_join_element_wise(batch.keys, longs(starts), b"")))
        if len(advances.keys):
            self._operator.expire_many(advances)

    def stored(self, records: GroupedBatch) -> StoredCounts:
        entries, starts = self._store.entries, records.groups.last(self._starts(records.batch)).tolist()
        entry_keys = entries.entry_keys([key[:-_START] for key in records.keys], starts)
        before = self._store.contents.get_many(entry_keys)
        return StoredCounts(before, lambda rows: entries.put_many(starts, entry_keys, rows))

    def _starts(self, batch: Batch) -> Ints:
        """The start of each record's window."""
        return last_start(batch.timestamps, self._windows.size_ms)

    def _drop_null_keys(self, batch: Batch) -> Batch:
        nulls = batch.keys.null_count
        if not nulls:
            return batch
        self._operator.context.drop(self._operator.name, DropReason.NULL_KEY, nulls)
        return batch.where(pc.is_valid(batch.keys))

    def _drop_late(self, batch: Batch, times: Ints) -> tuple[Batch, Ints]:
        """The records whose window is open, and the starts of their windows; counts the others as late."""
        starts = self._starts(batch)
        late = starts <= last_closed_start(times, self._windows.size_ms, self._windows.wait_ms)
        number = int(np.count_nonzero(late))
        if not number:
            return batch, starts
        name = self._operator.name
        self._operator.context.drop(name, DropReason.LATE, number)
        _log.info("%s: %d records are late; stream time is %d.", name, number, times[-1])
        return batch.where(pa.array(~late)), starts[~late]
