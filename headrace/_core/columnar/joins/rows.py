"""The records of a batch for both sides of a join of streams.

Columns stay columns, and become Python objects only a few rows at a time: Python's collector goes through all lists
there are again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace._core.columnar.batch import Batch, headers_of
from headrace._core.columnar.groups import Ints
from headrace._core.columnar.layout import RowError
from headrace._core.operators.joins.stream_stream import StreamJoin
from headrace._state.layouts.listed import ListsBySpan
from headrace.model.record import Record
from headrace.serdes import Json, Serde

FEW: Final = 2_000  # rows that become Python objects at a time

Bools = npt.NDArray[np.bool_]
Met = dict[int, list[tuple[int, Any]]]  # timestamps and values of partners, by row

_JSON_NULL = r"^[ \t\r\n]*null[ \t\r\n]*$"


class StreamSide(NamedTuple):
    """One side: what joins its records, where it keeps them, and the serde of their values."""

    operator: StreamJoin
    kept: ListsBySpan
    value_serde: Serde[Any]


class JoinRows:
    """The records of a batch. Keys go by number, -1 for none; `present` have a key and a value."""

    def __init__(
        self, batch: Batch, is_left: Bools, left: StreamSide, right: StreamSide, key_serde: Serde[Any]
    ) -> None:
        self.batch = batch
        self._key_serde = key_serde
        self._is_left = is_left
        self._both = (left, right)
        encoded = batch.keys.dictionary_encode()
        self.distinct: pa.Array = encoded.dictionary
        key_serde.checked(self.distinct)
        self.numbers: Ints = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
        self.present: Bools = self.numbers >= 0
        for side, mine in zip(self._both, (is_left, ~is_left), strict=True):
            self.present &= ~(mine & _reads_none(side.value_serde, batch.values))
        self._read = np.zeros(len(is_left), np.bool_)

    def meet(self, chosen: Sequence[int], met: Met) -> None:
        """What the record path does with records whose partners are known."""
        rows, batch, context = np.array(chosen, np.int64), self.batch, self._both[0].operator.context
        self._read[rows] = True
        keys = self._key_serde.deserialize_many(batch.keys.take(pa.array(rows)).to_pylist())
        records = zip(
            chosen,
            self._values(rows),
            keys,
            batch.timestamps[rows].tolist(),
            headers_of(batch, rows),
            batch.positions[rows].tolist(),
            strict=True,
        )
        for row, (operator, value), key, timestamp_ms, headers, position in records:
            context.position = position
            try:
                operator.meet(Record(key, value, timestamp_ms, headers), met.get(row, ()))
            except Exception as error:
                raise RowError(error, position) from error

    def _values(self, rows: Ints) -> list[tuple[StreamJoin, Any]]:
        """What joins each row, and its value."""
        left, right = self._both
        raws, is_left = self.batch.values.take(pa.array(rows)), self._is_left[rows]
        lefts, rights = (
            iter(side.value_serde.deserialize_many(raws.filter(pa.array(mine)).to_pylist()))
            for side, mine in ((left, is_left), (right, ~is_left))
        )
        return [
            (left.operator, next(lefts)) if of_left else (right.operator, next(rights)) for of_left in is_left.tolist()
        ]

    def pass_by(self) -> None:
        """Counts the records that have no key or no value; of those that met none, makes sure that they can be read."""
        for (operator, _, value_serde), mine in zip(self._both, (self._is_left, ~self._is_left), strict=True):
            keyless = mine & (self.numbers < 0)
            operator.context.drop(operator.name, "null key", int(np.count_nonzero(keyless)))
            operator.context.drop(operator.name, "null value", int(np.count_nonzero(mine & ~keyless & ~self.present)))
            unread = self.batch.values.filter(pa.array(mine & ~self._read))
            for start in range(0, len(unread), FEW):
                value_serde.deserialize_many(unread.slice(start, FEW).to_pylist())


def _reads_none(serde: Serde[Any], raws: pa.Array) -> Bools:
    """Which values are `None`: those that are null, and in JSON those that say so."""
    nulls = raws.is_null()
    if isinstance(serde, Json):
        nulls = pc.or_(nulls, pc.match_substring_regex(raws, _JSON_NULL).fill_null(True))
    found: Bools = nulls.to_numpy(zero_copy_only=False)
    return found
