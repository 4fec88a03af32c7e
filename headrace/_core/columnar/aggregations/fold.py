"""An aggregation in a chain of functions, for a whole batch: reads and writes rows at once, calls functions in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from headrace._core.columnar.batch import Batch, headers_of
from headrace._core.columnar.layout import Cursor
from headrace._core.operators.aggregations.streams import AggregatingOperator
from headrace._core.operators.functions import FunctionOperator, Take, to_all
from headrace._core.task.context import Moment
from headrace._state.stores.key_value import TIMESTAMP_SIZE, TypedTimestampedKeyValueStore, timestamp_of, with_timestamp
from headrace.model.record import Headers
from headrace.serdes import Serde


class Origins(NamedTuple):
    """The positions and the headers of a batch's records. A cached update gets those of the record that caused it."""

    positions: list[int]
    headers: list[Headers]


class AggregationStep(FunctionOperator):
    """An aggregation as one step of `FunctionsForm`, the batch form of a chain of operators with functions.

    The changes of the aggregation may only be read as a stream, without old values. The aggregate is decoded from bytes
    again for each record, as on the record path, because functions may change it in place. If the aggregation is
    cached, results go to the record cache, and `FunctionsForm` forwards them at a flush.
    """

    forward_update: Take

    def __init__(
        self, operator: AggregatingOperator, store: TypedTimestampedKeyValueStore[Any, Any], cursor: Cursor
    ) -> None:
        super().__init__(operator.name)
        self._operator = operator
        self._store = store
        self._cursor = cursor
        self._rows: dict[bytes, bytes | None] = {}
        self._changed: dict[bytes, bytes | None] = {}
        self.origins = Origins([], [])
        self.cache = operator.cache

    def prefetch(self, batch: Batch, key_serde: Serde[Any]) -> None:
        """Reads the rows of all keys of a batch at once, if the store has the same key serde as the batch."""
        if key_serde == self._store.key_serde:
            keys: list[bytes] = batch.keys.unique().drop_null().to_pylist()
            self._rows.update(zip(keys, self._store.contents.get_many(keys), strict=True))

    def begin(self, batch: Batch) -> None:
        """Prepares for the records of a batch."""
        if self.cache is not None:
            self.origins = Origins(batch.positions.tolist(), headers_of(batch, np.arange(len(batch.positions))))

    def bind(self, children: Sequence[Take]) -> Take:
        self.forward_update = to_all(children)
        forward, cache, rows, changed = self.forward_update, self.cache, self._rows, self._changed
        accepts, fold = self._operator.accepts, self._operator.fold
        key_to_bytes, get = self._store.key_bytes, self._store.contents.get
        from_bytes, to_bytes = self._store.value_serde.deserialize, self._store.value_serde.serialize

        def take(key: Any, value: Any) -> None:
            if not accepts(key, value):
                return
            cursor = self._cursor
            key_bytes, record_ms = key_to_bytes(key), cursor.timestamp_ms
            stored = rows[key_bytes] if key_bytes in rows else get(key_bytes)
            row = None if stored is None else (from_bytes(stored[TIMESTAMP_SIZE:]), timestamp_of(stored))
            aggregate, cursor.timestamp_ms = fold(key, value, record_ms, row)
            raw = to_bytes(aggregate)
            rows[key_bytes] = changed[key_bytes] = None if raw is None else with_timestamp(raw, cursor.timestamp_ms)
            if cache is None:
                forward(key, aggregate)
            else:
                positions, headers = self.origins
                moment = Moment(positions[cursor.row], None, cache.context.topic, None, 0)
                existed = True if stored is not None else None  # only whether there was an old value counts
                cache.put_update(key_bytes, key, raw, existed, cursor.timestamp_ms, headers[cursor.row], moment)
            # Siblings of this aggregation see the timestamp of the record, not of the result.
            cursor.timestamp_ms = record_ms

        return take

    def end(self) -> None:
        """Writes the changed rows to the store."""
        self._store.contents.put_many(self._changed.items())
        self._rows.clear()
        self._changed.clear()
