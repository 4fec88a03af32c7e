"""The batch form of a table that is only stored, so that no operator gets its changes.

It writes the last row of each key in the batch, by the one order, and all of these rows at once. It is chosen (see
`compile.py`) only if the store has the serdes of the topic, and may hold keys and values in their input bytes.
"""

from __future__ import annotations

from typing import Any

from headrace._core import operators as ops
from headrace._core.columnar.batch import Batch
from headrace._core.drop_reasons import DropReason
from headrace._state.stores.key_value import TypedTimestampedKeyValueStore, with_timestamp


class TableStoreForm:
    """Stores records as rows, in their input bytes. A null value removes its row; null keys are dropped and counted."""

    def __init__(self, table: ops.TableSource, store: TypedTimestampedKeyValueStore[Any, Any]) -> None:
        self._table = table
        self._store = store

    def __call__(self, batch: Batch) -> None:
        rows: dict[bytes | None, bytes | None] = {}
        for key, value, timestamp_ms in zip(
            batch.keys.to_pylist(), batch.values.to_pylist(), batch.timestamps.tolist(), strict=True
        ):
            rows[key] = None if value is None else with_timestamp(value, timestamp_ms)
        self._table.context.drop(self._table.name, DropReason.NULL_KEY, batch.keys.null_count)
        self._store.contents.put_many((key, row) for key, row in rows.items() if key is not None)
