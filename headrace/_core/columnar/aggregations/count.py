"""The batch form of count of a grouped stream."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace._core.columnar.batch import Batch, longs
from headrace._core.columnar.caching import CachedCounts
from headrace._core.columnar.groups import Groups, Ints
from headrace._core.drop_reasons import DropReason
from headrace._core.operator import Operator
from headrace._state.bytes.api import ByteStore

_ABSENT = struct.pack(">qq", -1, 0)  # timestamp and count of a new key


class CountForm:
    """Counts by the bytes of the keys. `forward` gets every update of a batch, as values of `serdes.Long()`.

    With `cached`, the last update of each key goes to the record cache instead.
    """

    def __init__(
        self,
        operator: Operator,
        store: ByteStore,
        forward: Callable[[Batch], None],
        cached: CachedCounts | None = None,
    ) -> None:
        self._operator = operator
        self._store = store
        self._forward = forward
        self._cached = cached

    def __call__(self, batch: Batch) -> None:
        batch = self._drop_nulls(batch)
        if not len(batch.keys):
            return
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
        rows = Groups(encoded.indices.to_numpy(), len(keys))
        before = self._store.get_many(keys)
        stored = b"".join(raw or _ABSENT for raw in before)
        times, counts = np.frombuffer(stored, ">i8").reshape(-1, 2).T.astype(np.int64)
        counted = rows.running_count(counts)
        latest = rows.running_max(batch.timestamps, times)
        self._put(keys, rows.last(latest), rows.last(counted))
        updates = batch._replace(values=longs(counted), timestamps=latest)
        if self._cached is None:
            self._forward(updates)
        else:
            self._cached.add(keys, before, rows.last(np.arange(len(batch.keys))), updates)

    def _drop_nulls(self, batch: Batch) -> Batch:
        keyed, valued = pc.is_valid(batch.keys), pc.is_valid(batch.values)
        if not batch.keys.null_count and not batch.values.null_count:
            return batch
        context, name = self._operator.context, self._operator.name
        context.drop(name, DropReason.NULL_KEY, batch.keys.null_count)
        context.drop(name, DropReason.NULL_VALUE, pc.sum(pc.and_(keyed, pc.invert(valued))).as_py())
        return batch.where(pc.and_(keyed, valued))

    def _put(self, keys: list[bytes], times: Ints, counts: Ints) -> None:
        raw = np.column_stack((times, counts)).astype(">i8").tobytes()
        self._store.put_many(zip(keys, (raw[at : at + 16] for at in range(0, len(raw), 16)), strict=True))
