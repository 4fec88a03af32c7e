"""count of a grouped stream, for a whole batch."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow.compute as pc

from headrace._core.columnar.batch import Batch
from headrace._core.columnar.caching import CachedCounts
from headrace._core.columnar.counting import CountingForm, GroupedBatch, StoredCounts
from headrace._core.drop_reasons import DropReason
from headrace._core.operator import Operator
from headrace._state.bytes.api import ByteStore


class CountForm(CountingForm):
    """Counts the records of each key."""

    def __init__(
        self, operator: Operator, store: ByteStore, forward: Callable[[Batch], None], cached: CachedCounts | None
    ) -> None:
        super().__init__(forward, cached)
        self._operator = operator
        self._store = store

    def __call__(self, batch: Batch) -> None:
        batch = self._drop_nulls(batch)
        if len(batch.keys):
            self.count(batch)

    def stored(self, records: GroupedBatch) -> StoredCounts:
        store, keys = self._store, records.keys
        return StoredCounts(store.get_many(keys), lambda rows: store.put_many(zip(keys, rows, strict=True)))

    def _drop_nulls(self, batch: Batch) -> Batch:
        keyed, valued = pc.is_valid(batch.keys), pc.is_valid(batch.values)
        if not batch.keys.null_count and not batch.values.null_count:
            return batch
        context, name = self._operator.context, self._operator.name
        context.drop(name, DropReason.NULL_KEY, batch.keys.null_count)
        context.drop(name, DropReason.NULL_VALUE, pc.sum(pc.and_(keyed, pc.invert(valued))).as_py())
        return batch.where(pc.and_(keyed, valued))
