"""An aggregation among functions, for a whole batch: rows are read and written at once, functions run one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace._core.columnar.batch import Batch
from headrace._core.columnar.layout import Cursor
from headrace._core.operators.aggregations.streams import Aggregation
from headrace._core.operators.functions import FunctionOperator, Take, to_all
from headrace._state.stores.key_value import TIMESTAMP_SIZE, TimestampedKeyValueStore, timestamp_of, with_timestamp
from headrace.serdes import Serde


class Fold(FunctionOperator):
    """In the place of an aggregation whose changes are only read as a stream.

    The aggregate is read anew from its bytes for each record, as on the record path: functions may change it in place.
    """

    def __init__(self, operator: Aggregation, store: TimestampedKeyValueStore[Any, Any], cursor: Cursor) -> None:
        super().__init__(operator.name)
        self._operator = operator
        self._store = store
        self._cursor = cursor
        self._found: dict[bytes, bytes | None] = {}
        self._changed: dict[bytes, bytes | None] = {}

    def begin(self, batch: Batch, key_serde: Serde[Any]) -> None:
        """Reads what is stored under the keys of a batch, if they are as the store writes them."""
        if key_serde == self._store.key_serde:
            keys: list[bytes] = batch.keys.unique().drop_null().to_pylist()
            self._found.update(zip(keys, self._store.contents.get_many(keys), strict=True))

    def bound(self, children: Sequence[Take]) -> Take:
        forward, found, changed = to_all(children), self._found, self._changed
        accepts, folded = self._operator.accepts, self._operator.folded
        key_to_bytes, get = self._store.key_bytes, self._store.contents.get
        from_bytes, to_bytes = self._store.value_serde.deserialize, self._store.value_serde.serialize

        def take(key: Any, value: Any) -> None:
            if not accepts(key, value):
                return
            cursor = self._cursor
            key_bytes, came_ms = key_to_bytes(key), cursor.timestamp_ms
            stored = found[key_bytes] if key_bytes in found else get(key_bytes)
            row = None if stored is None else (from_bytes(stored[TIMESTAMP_SIZE:]), timestamp_of(stored))
            aggregate, cursor.timestamp_ms = folded(key, value, came_ms, row)
            raw = to_bytes(aggregate)
            stored = None if raw is None else with_timestamp(raw, cursor.timestamp_ms)
            found[key_bytes] = changed[key_bytes] = stored
            forward(key, aggregate)
            cursor.timestamp_ms = came_ms

        return take

    def end(self) -> None:
        """Stores what has become of the rows."""
        self._store.contents.put_many(self._changed.items())
        self._found.clear()
        self._changed.clear()
