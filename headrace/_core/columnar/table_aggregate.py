"""Aggregates of a grouped table, for a whole batch: state is read and written at once, functions run one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace._core import operators as ops
from headrace._core.columnar.batch import Batch
from headrace._core.columnar.failing import RowError
from headrace._state.stores import TIMESTAMP_SIZE, TimestampedKeyValueStore, timestamp_of, with_timestamp
from headrace.serdes import Serde


class TableAggregateForm:
    """From the bytes of events to those of aggregates; each is read anew from its bytes, as the record path does."""

    def __init__(
        self,
        operator: ops.TableAggregate,
        store: TimestampedKeyValueStore[Any, Any],
        change_serde: Serde[Any],
        forward: Callable[[Batch], None],
    ) -> None:
        self._operator = operator
        self._store = store
        self._change_serde = change_serde
        self._forward = forward

    def __call__(self, batch: Batch) -> None:
        store, folded = self._store, self._operator.folded
        read, to_bytes = store.value_serde.deserialize, store.value_serde.serialize
        encoded = batch.keys.dictionary_encode()
        distinct: list[bytes] = encoded.dictionary.to_pylist()
        groups = store.key_serde.deserialize_many(distinct)
        rows = store.contents.get_many(distinct)
        changes: Sequence[Any] = self._change_serde.deserialize_many(batch.values.to_pylist())
        numbers, times = encoded.indices.to_pylist(), batch.timestamps.tolist()
        results: list[bytes | None] = []
        row = 0
        try:
            for row, (number, change) in enumerate(zip(numbers, changes, strict=True)):
                stored = rows[number]
                before = None if stored is None else (read(stored[TIMESTAMP_SIZE:]), timestamp_of(stored))
                aggregate, times[row] = folded(groups[number], change, times[row], before)
                raw = to_bytes(aggregate)
                rows[number] = None if raw is None else with_timestamp(raw, times[row])
                results.append(raw)
        except Exception as error:
            raise RowError(error, int(batch.positions[row]), groups[numbers[row]], times[row]) from error
        store.contents.put_many(zip(distinct, rows, strict=True))
        self._forward(batch._replace(values=pa.array(results, pa.binary()), timestamps=np.array(times, np.int64)))
