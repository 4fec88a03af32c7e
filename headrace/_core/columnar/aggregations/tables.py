"""A stored table and its group_by, for a whole batch: reads and writes all rows at once, calls functions one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace._core import operators as ops
from headrace._core.caching import StoreCache, Update, flush_error
from headrace._core.columnar.batch import Batch, headers_column, headers_of
from headrace._core.columnar.caching import batch_of
from headrace._core.columnar.layout import RowError
from headrace._core.drop_reasons import DropReason
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._core.task.context import Moment
from headrace._state.stores.key_value import TIMESTAMP_SIZE, TypedTimestampedKeyValueStore, with_timestamp

_Rows = dict[bytes | None, bytes | None]


class TableGroupByForm:
    """The batch form of a stored table that feeds one `group_by`. It stores values in their input bytes.

    `forward` gets the events for the groups in the bytes of the sink. If the table is cached, it gets the events of the
    last change of each row when the cache is flushed.
    """

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
        if table.cache is not None:
            table.cache.forward_in_columns = self._forward_updates

    def __call__(self, batch: Batch) -> None:
        store = self._store
        keys: list[bytes | None] = batch.keys.to_pylist()
        distinct = [key for key in dict.fromkeys(keys) if key is not None]
        rows: _Rows = dict(zip(distinct, store.contents.get_many(distinct), strict=True))
        if self._table.cache is None:
            self._update_rows(batch, keys, rows)
        else:
            self._put(self._table.cache, batch, keys, rows)
        self._table.context.drop(self._table.name, DropReason.NULL_KEY, batch.keys.null_count)
        store.contents.put_many((key, stored) for key, stored in rows.items() if key is not None)

    def _update_rows(self, batch: Batch, keys: list[bytes | None], rows: _Rows) -> None:
        """Stores the new rows of a batch, and forwards what each change subtracts from and adds to the aggregates."""
        store, values, times = self._store, batch.values.to_pylist(), batch.timestamps.tolist()
        read, events = store.value_serde.deserialize, _Events(self._group_by, self._sink)
        decoded, new_values = store.key_serde.deserialize_many(keys), store.value_serde.deserialize_many(values)
        row = 0
        try:
            for row, (key, raw, new) in enumerate(zip(keys, values, new_values, strict=True)):
                if key is None:
                    continue
                stored = rows[key]
                rows[key] = None if raw is None else with_timestamp(raw, times[row])
                old = None if stored is None else read(stored[TIMESTAMP_SIZE:])
                events.add(decoded[row], new, old, row)
        except USER_ERRORS as error:
            raise RowError(error, int(batch.positions[row])) from error
        events.forward(batch, self._forward)

    def _put(self, cache: StoreCache, batch: Batch, keys: list[bytes | None], rows: _Rows) -> None:
        """Updates `rows` with the new rows of a batch, and caches every change."""
        values, times, positions = batch.values.to_pylist(), batch.timestamps.tolist(), batch.positions.tolist()
        headers, topic = headers_of(batch, np.arange(len(keys))), cache.context.topic
        decoded, read = self._store.key_serde.deserialize_many(keys), cache.value_of
        for row, (key, raw) in enumerate(zip(keys, values, strict=True)):
            if key is None:
                continue
            stored = rows[key]
            rows[key] = None if raw is None else with_timestamp(raw, times[row])
            old = None
            if stored is not None and key not in cache.updates:
                old = read(stored[TIMESTAMP_SIZE:])
            moment = Moment(positions[row], None, topic, None, 0)
            cache.put_update(key, decoded[row], raw, old, times[row], headers[row], moment)

    def _forward_updates(self, updates: Sequence[Update]) -> None:
        cache, events = self._table.cache, _Events(self._group_by, self._sink)
        assert cache is not None
        for row, update in enumerate(updates):
            try:
                events.add(update.key, cache.value_of(update.value), update.old, row)
            except USER_ERRORS as error:
                cache.context.return_to(update.moment)
                raise flush_error(cache.context, error, key=update.key, timestamp_ms=update.timestamp_ms) from error
        events.forward(batch_of(updates), self._forward)


class _Events:
    """Collects the events that the changes of a batch cause, serialized."""

    def __init__(self, group_by: ops.TableGroupBy, sink: ops.Sink) -> None:
        self._events = group_by.events
        self._key_to_bytes, self._value_to_bytes = sink.key_bytes, sink.value_bytes
        self._groups: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._rows: list[int] = []

    def add(self, key: Any, new: Any, old: Any, row: int) -> None:
        """Adds the events of a change. `row` is the index of the record of the batch that caused it."""
        for group, event in self._events(key, new, old):
            self._groups.append(self._key_to_bytes(group))
            self._values.append(self._value_to_bytes(event))
            self._rows.append(row)

    def forward(self, batch: Batch, forward: Callable[[Batch], None]) -> None:
        """Forwards the events, with timestamps, headers and positions of the records that caused them."""
        if self._rows:
            rows = np.array(self._rows, np.intp)
            forward(
                Batch(
                    pa.array(self._groups, pa.binary()),
                    pa.array(self._values, pa.binary()),
                    batch.timestamps[rows],
                    headers_column(headers_of(batch, rows)),
                    batch.positions[rows],
                )
            )
