"""Functions of keys and values, for a whole batch: called as on the record path, but no records are made in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.columnar.batch import Batch
from headrace._core.columnar.cursor import Cursor
from headrace._core.columnar.failing import RowError, UndecodableError
from headrace._core.columnar.fold import Fold
from headrace._core.columnar.groups import Ints
from headrace._core.operators.function_operator import FunctionOperator, Take
from headrace.serdes import Serde

_MAX_ROWS = 50_000
_MAX_BYTES = 4 << 20
_SEALED_ROWS = 1_000


class _Sealed(NamedTuple):
    """Records in columns; `rows` are those of the batch that they were made of."""

    keys: pa.Array
    values: pa.Array
    times: Ints
    rows: npt.NDArray[np.intp]


class Gathered(FunctionOperator):
    """In the place of an operator behind functions: gathers what they forward to it, as bytes, for its batch form.

    Keys and values are encoded at once, as anywhere, since user code may change them later; those of types that never
    change are kept, and encoded together.
    """

    def __init__(
        self,
        name: str,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        cursor: Cursor,
        form: Callable[[Batch], None],
    ) -> None:
        super().__init__(name)
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._cursor = cursor
        self._form = form
        self._keeps = key_serde.plain is not None and value_serde.plain is not None
        self._keys: list[Any] = []
        self._values: list[Any] = []
        self._times: list[int] = []
        self._rows: list[int] = []
        self._sealed: list[_Sealed] = []

    def bound(self, children: Sequence[Take]) -> Take:  # noqa: ARG002
        add_key, add_value = self._keys.append, self._values.append
        add_time, add_row = self._times.append, self._rows.append
        key_serde, value_serde = self._key_serde, self._value_serde
        key_to_bytes, value_to_bytes = key_serde.serialize, value_serde.serialize
        key_type, value_type = key_serde.plain, value_serde.plain

        def encode(key: Any, value: Any) -> None:
            add_key(key_to_bytes(key))
            add_value(value_to_bytes(value))
            add_time(self._cursor.timestamp_ms)
            add_row(self._cursor.row)

        def keep(key: Any, value: Any) -> None:
            if type(key) is not key_type:
                key = key_serde.deserialize(key_to_bytes(key))
            if type(value) is not value_type:
                value = value_serde.deserialize(value_to_bytes(value))
            add_key(key)
            add_value(value)
            add_time(self._cursor.timestamp_ms)
            add_row(self._cursor.row)

        return keep if self._keeps else encode

    def seal(self) -> None:
        """Makes columns of what was gathered since; if something cannot be encoded, the cursor is then at its row."""
        if not self._rows:
            return
        keys, values = self._encoded() if self._keeps else map(_binary, (self._keys, self._values))
        self._sealed.append(_Sealed(keys, values, np.array(self._times, np.int64), np.array(self._rows, np.intp)))
        for gathered in (self._keys, self._values, self._times, self._rows):
            gathered.clear()

    @property
    def is_full(self) -> bool:
        """Whether there is enough for a batch."""
        rows = sum(len(sealed.rows) for sealed in self._sealed)
        return rows >= _MAX_ROWS or sum(sealed.values.nbytes for sealed in self._sealed) >= _MAX_BYTES

    def flush(self, batch: Batch) -> None:
        """Hands on what was sealed, made of the records of a batch."""
        if not self._sealed:
            return
        keys, values, times, rows = zip(*self._sealed, strict=True)
        self._sealed.clear()
        chosen = np.concatenate(rows)
        self._form(
            Batch(
                pa.concat_arrays(keys),
                pa.concat_arrays(values),
                np.concatenate(times),
                None if batch.headers is None else batch.headers.take(pa.array(chosen)),
                batch.positions[chosen],
            )
        )

    def _encoded(self) -> tuple[pa.Array, pa.Array]:
        try:
            return self._key_serde.serialize_many(self._keys), self._value_serde.serialize_many(self._values)
        except Exception:
            for key, value, row in zip(self._keys, self._values, self._rows, strict=True):
                self._cursor.row = row
                self._key_serde.serialize(key)
                self._value_serde.serialize(value)
            raise


class FunctionsForm:
    """Decodes a batch and has every record go its way through all functions before the next, as on the record path.

    Args:
        key_serde: serde of the keys of batches.
        value_serde: serde of their values.
        cursor: follows the records.
        take: the functions.
        folds: the aggregations among them.
        ends: where they end.
    """

    def __init__(
        self,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        cursor: Cursor,
        take: Take,
        folds: Sequence[Fold],
        ends: Sequence[Gathered],
    ) -> None:
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._cursor = cursor
        self._take = take
        self._folds = folds
        self._ends = ends

    def __call__(self, batch: Batch) -> None:
        keys, values = self._decoded(batch)
        for fold in self._folds:
            fold.begin(batch, self._key_serde)
        for start in range(0, len(keys), _SEALED_ROWS):
            self._run(batch, keys, values, slice(start, start + _SEALED_ROWS))
            for end in self._ends:
                if end.is_full:
                    end.flush(batch)
        for fold in self._folds:
            fold.end()
        for end in self._ends:
            end.flush(batch)

    def _decoded(self, batch: Batch) -> tuple[Sequence[Any], Sequence[Any]]:
        try:
            keys = self._key_serde.deserialize_many(batch.keys.to_pylist())
            return keys, self._value_serde.deserialize_many(batch.values.to_pylist())
        except Exception as error:
            raise UndecodableError from error

    def _run(self, batch: Batch, keys: Sequence[Any], values: Sequence[Any], part: slice) -> None:
        take, cursor = self._take, self._cursor
        times = batch.timestamps[part].tolist()
        try:
            for row, (key, value, timestamp_ms) in enumerate(
                zip(keys[part], values[part], times, strict=True), part.start
            ):
                cursor.row, cursor.timestamp_ms = row, timestamp_ms
                take(key, value)
            for end in self._ends:
                end.seal()
        except Exception as error:
            row = cursor.row
            raise RowError(error, int(batch.positions[row]), keys[row], int(batch.timestamps[row])) from error


def _binary(column: list[bytes | None]) -> pa.Array:
    return pa.array(column, pa.binary())
