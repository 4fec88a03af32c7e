"""A stored table and its group_by, for a whole batch: reads and writes all rows at once, calls functions one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from headrace._core import operators as ops
from headrace._core.columnar.batch import Batch, headers_column, headers_of
from headrace._core.columnar.layout import RowError
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._state.stores.key_value import TIMESTAMP_SIZE, TypedTimestampedKeyValueStore, with_timestamp


class TableGroupByForm:
    """Turns records in bytes into events by group in bytes. Rows are stored in their input bytes."""

    def __init__(
        self,
        table: ops.TableSource,
        group_by: ops.TableGroupBy,
        sink: ops.Sink,
        store: TypedTimestampedKeyValueStore[Any, Any],
        forward: Callable[[Batch], None],
    ) -> None:
        self._table = table
        self._group_by = group_by
        self._sink = sink
        self._store = store
        self._forward = forward

    def __call__(self, batch: Batch) -> None:
        store, events = self._store, self._group_by.events
        keys, values, times = batch.keys.to_pylist(), batch.values.to_pylist(), batch.timestamps.tolist()
        read, key_to_bytes, to_bytes = store.value_serde.deserialize, self._sink.key_bytes, self._sink.value_bytes
        distinct = [key for key in dict.fromkeys(keys) if key is not None]
        rows: dict[bytes | None, bytes | None] = dict(zip(distinct, store.contents.get_many(distinct), strict=True))
        decoded, new_values = store.key_serde.deserialize_many(keys), store.value_serde.deserialize_many(values)
        group_bytes, event_bytes, caused_by = [], [], []
        row = 0
        try:
            for row, (key, raw, new) in enumerate(zip(keys, values, new_values, strict=True)):
                if key is None:
                    continue
                stored = rows[key]
                rows[key] = None if raw is None else with_timestamp(raw, times[row])
                old = None if stored is None else read(stored[TIMESTAMP_SIZE:])
                for group, event in events(decoded[row], new, old):
                    group_bytes.append(key_to_bytes(group))
                    event_bytes.append(to_bytes(event))
                    caused_by.append(row)
        except USER_ERRORS as error:
            raise RowError(error, int(batch.positions[row])) from error
        self._table.context.drop(self._table.name, "null key", batch.keys.null_count)
        store.contents.put_many((key, stored) for key, stored in rows.items() if key is not None)
        if caused_by:
            chosen = np.array(caused_by, np.intp)
            self._forward(
                Batch(
                    pa.array(group_bytes, pa.binary()),
                    pa.array(event_bytes, pa.binary()),
                    batch.timestamps[chosen],
                    headers_column(headers_of(batch, chosen)),
                    batch.positions[chosen],
                )
            )
