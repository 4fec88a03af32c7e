"""The records of a batch, for both sides of a stream-stream join.

Rows become Python objects only a few at a time: the garbage collector scans all live lists again and again, so that
many live objects would make it slow.
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
from headrace._core.drop_reasons import DropReason
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._core.operators.joins.stream_stream import StreamJoin
from headrace._state.layouts.entry_lists import ListsBySpan
from headrace.model.record import Record
from headrace.serdes import Json, Serde

ROWS_AT_ONCE: Final = 2_000  # rows that become Python objects at a time

Bools = npt.NDArray[np.bool_]
MatchesByRow = dict[int, list[tuple[int, Any]]]  # timestamps and values of matches

_JSON_NULL = r"^[ \t\r\n]*null[ \t\r\n]*$"


class StreamSide(NamedTuple):
    """One side: the operator that joins its records, the store that holds them, and the serde of their values."""

    operator: StreamJoin
    stored: ListsBySpan
    value_serde: Serde[Any]


class JoinRows:
    """The records of a batch, of both sides of a join.

    `numbers` has the index of each record's key in `distinct`, or -1 if it has no key. `joinable` says which records
    have a key and a value.
    """

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
        self.joinable: Bools = self.numbers >= 0
        for side, mine in zip(self._both, (is_left, ~is_left), strict=True):
            self.joinable &= ~(mine & _decodes_to_none(side.value_serde, batch.values))
        self._decoded = np.zeros(len(is_left), np.bool_)

    def join(self, chosen: Sequence[int], matches: MatchesByRow) -> None:
        """Joins the records in the rows `chosen` with their matches, as the record path does."""
        rows, batch, context = np.array(chosen, np.int64), self.batch, self._both[0].operator.context
        self._decoded[rows] = True
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
                operator.join(Record(key, value, timestamp_ms, headers), matches.get(row, ()))
            except USER_ERRORS as error:
                raise RowError(error, position) from error

    def _values(self, rows: Ints) -> list[tuple[StreamJoin, Any]]:
        """The operator and the value of each row."""
        left, right = self._both
        raws, is_left = self.batch.values.take(pa.array(rows)), self._is_left[rows]
        lefts, rights = (
            iter(side.value_serde.deserialize_many(raws.filter(pa.array(mine)).to_pylist()))
            for side, mine in ((left, is_left), (right, ~is_left))
        )
        return [
            (left.operator, next(lefts)) if of_left else (right.operator, next(rights)) for of_left in is_left.tolist()
        ]

    def skip_others(self) -> None:
        """Ends an inner join: counts records without a key or a value as dropped, and decodes values not yet decoded.

        `join` decodes only records that have a match. Other values are decoded only so that an invalid one raises an
        error, as in the record path.
        """
        for (operator, _, value_serde), mine in zip(self._both, (self._is_left, ~self._is_left), strict=True):
            keyless = mine & (self.numbers < 0)
            operator.context.drop(operator.name, DropReason.NULL_KEY, int(np.count_nonzero(keyless)))
            operator.context.drop(
                operator.name, DropReason.NULL_VALUE, int(np.count_nonzero(mine & ~keyless & ~self.joinable))
            )
            undecoded = self.batch.values.filter(pa.array(mine & ~self._decoded))
            for start in range(0, len(undecoded), ROWS_AT_ONCE):
                value_serde.deserialize_many(undecoded.slice(start, ROWS_AT_ONCE).to_pylist())


def _decodes_to_none(serde: Serde[Any], raws: pa.Array) -> Bools:
    """Which of the serialized values decode to `None`: nulls, and with a JSON serde also the text `null`."""
    nulls = raws.is_null()
    if isinstance(serde, Json):
        nulls = pc.or_(nulls, pc.match_substring_regex(raws, _JSON_NULL).fill_null(True))
    result: Bools = nulls.to_numpy(zero_copy_only=False)
    return result
