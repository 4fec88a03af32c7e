"""A stream-table join for a whole batch: looks up the rows of its keys at once, calls the joiner for each record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headrace._core import operators as ops
from headrace._core.columnar.batch import Batch
from headrace._core.columnar.layout import RowError
from headrace._core.drop_reasons import DropReason
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._state.stores.key_value import TIMESTAMP_SIZE, TypedTimestampedKeyValueStore
from headrace.serdes import Serde

_IMMUTABLE = (str, int, float, bytes, type(None))


class StreamTableJoinForm:
    """The batch form of a stream-table join that feeds one sink. `forward` gets results in the bytes of the sink.

    Rows that a joiner could change in place are decoded again for each record, as on the record path.
    """

    def __init__(
        self,
        operator: ops.StreamTableJoin,
        store: TypedTimestampedKeyValueStore[Any, Any],
        value_serde: Serde[Any],
        sink: ops.Sink,
        forward: Callable[[Batch], None],
    ) -> None:
        self._operator = operator
        self._store = store
        self._value_serde = value_serde
        self._sink = sink
        self._forward = forward

    def __call__(self, batch: Batch) -> None:
        operator, read = self._operator, self._store.value_serde.deserialize
        encoded = batch.keys.dictionary_encode()
        raw_rows = self._store.contents.get_many(encoded.dictionary.to_pylist())
        # One more entry, for records without a key: they have no row.
        raws = [*(None if raw is None else raw[TIMESTAMP_SIZE:] for raw in raw_rows), None]
        rows = [read(raw) for raw in raws]
        numbers = encoded.indices.fill_null(len(raw_rows)).to_pylist()
        values = self._value_serde.deserialize_many(batch.values.to_pylist())
        joiner, value_joiner = operator.joiner, operator.value_joiner
        to_bytes, left = self._sink.value_bytes, operator.left
        keys = [None] * len(values) if value_joiner is not None else self._keys(batch)
        results: list[bytes | None] = []
        chosen: list[int] = []
        at = 0
        try:
            for at, (number, key, value) in enumerate(zip(numbers, keys, values, strict=True)):
                row = rows[number]
                if value is None or (row is None and not left):
                    continue
                if not isinstance(row, _IMMUTABLE):
                    row = read(raws[number])
                result = joiner(key, value, row) if value_joiner is None else value_joiner(value, row)
                results.append(to_bytes(result))
                chosen.append(at)
        except USER_ERRORS as error:
            raise RowError(error, int(batch.positions[at])) from error
        self._count_dropped(batch)
        if chosen:
            self._send(batch, np.array(chosen, np.intp), results)

    def _keys(self, batch: Batch) -> Sequence[Any]:
        return self._store.key_serde.deserialize_many(batch.keys.to_pylist())

    def _send(self, batch: Batch, chosen: Any, results: list[bytes | None]) -> None:
        rows = pa.array(chosen)
        self._forward(
            Batch(
                batch.keys.take(rows),
                pa.array(results, pa.binary()),
                batch.timestamps[chosen],
                None if batch.headers is None else batch.headers.take(rows),
                batch.positions[chosen],
            )
        )

    def _count_dropped(self, batch: Batch) -> None:
        operator = self._operator
        operator.context.drop(operator.name, DropReason.NULL_VALUE, batch.values.null_count)
        if not operator.left:
            operator.context.drop(
                operator.name, DropReason.NULL_KEY, batch.keys.filter(batch.values.is_valid()).null_count
            )
