"""Functions of keys and values, for a whole batch: called as on the record path, but no records are made in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.columnar.aggregations.fold import Fold
from headrace._core.columnar.batch import Batch
from headrace._core.columnar.groups import Ints
from headrace._core.columnar.layout import Cursor, RowError, UndecodableError
from headrace._core.operators.functions import FunctionOperator, Take
from headrace.serdes import Serde

_SEALED_ROWS = 4_000
_MAX_ROWS = 50_000
_MAX_BYTES = 4 << 20


class _Sealed(NamedTuple):
    """Records in columns; `rows` are those of the batch that they were made of."""

    keys: pa.Array
    values: pa.Array
    times: Ints
    rows: npt.NDArray[np.intp]


class Gathered(FunctionOperator):
    """In the place of an operator behind functions: gathers what they forward to it, as bytes, for its batch form.

    Keys and values are encoded at once, as anywhere, since user code may change them later; texts and bytes, which
    never change, are kept and encoded together. What cannot be encoded is noticed at once in any case.
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
        self._bytes = 0
        self._sealed: list[_Sealed] = []
        self._sealed_rows = self._sealed_bytes = 0

    def begin(self, batch: Batch) -> None:
        """Before the records of a batch."""
        self._batch = batch

    def bound(self, children: Sequence[Take]) -> Take:  # noqa: ARG002
        add_key, add_value = self._keys.append, self._values.append
        add_time, add_row, rows = self._times.append, self._rows.append, self._rows
        key_serde, value_serde, cursor = self._key_serde, self._value_serde, self._cursor
        key_to_bytes, value_to_bytes = key_serde.serialize, value_serde.serialize
        key_type: Any = key_serde.plain
        value_type: Any = value_serde.plain

        def encode(key: Any, value: Any) -> None:
            add_key(key_to_bytes(key))
            raw = value_to_bytes(value)
            add_value(raw)
            add_time(cursor.timestamp_ms)
            add_row(cursor.row)
            if raw is not None:
                self._bytes += len(raw)
            if len(rows) >= _SEALED_ROWS or self._bytes >= _MAX_BYTES:
                self.seal()

        def keep(key: Any, value: Any) -> None:
            if type(key) is not key_type or not key.isascii():
                key = key_serde.deserialize(key_to_bytes(key))
            if type(value) is not value_type or not value.isascii():
                value = value_serde.deserialize(value_to_bytes(value))
            add_key(key)
            add_value(value)
            add_time(cursor.timestamp_ms)
            add_row(cursor.row)
            if value is not None:
                self._bytes += len(value)
            if len(rows) >= _SEALED_ROWS or self._bytes >= _MAX_BYTES:
                self.seal()

        return keep if self._keeps else encode

    def seal(self) -> None:
        """Makes columns of what was gathered; hands them on if they are many."""
        if not self._rows:
            return
        if self._keeps:
            keys, values = self._key_serde.serialize_many(self._keys), self._value_serde.serialize_many(self._values)
        else:
            keys, values = pa.array(self._keys, pa.binary()), pa.array(self._values, pa.binary())
        self._sealed.append(_Sealed(keys, values, np.array(self._times, np.int64), np.array(self._rows, np.intp)))
        self._sealed_rows += len(self._rows)
        self._sealed_bytes += values.nbytes
        self._bytes = 0
        for gathered in (self._keys, self._values, self._times, self._rows):
            gathered.clear()
        if self._sealed_rows >= _MAX_ROWS or self._sealed_bytes >= _MAX_BYTES:
            self.flush()

    def flush(self) -> None:
        """Hands on what was sealed."""
        if not self._sealed:
            return
        keys, values, times, rows = zip(*self._sealed, strict=True)
        self._sealed.clear()
        self._sealed_rows = self._sealed_bytes = 0
        batch, chosen = self._batch, np.concatenate(rows)
        self._form(
            Batch(
                pa.concat_arrays(keys),
                pa.concat_arrays(values),
                np.concatenate(times),
                None if batch.headers is None else batch.headers.take(pa.array(chosen)),
                batch.positions[chosen],
            )
        )


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

    def first(self, batch: Batch) -> None:
        """For batches of a source, whose records may not be decodable.

        Raises:
            UndecodableError: if so, and nothing has been done.
        """
        try:
            decoded = self._decoded(batch)
        except Exception as error:
            raise UndecodableError from error
        self._run(batch, *decoded)

    def __call__(self, batch: Batch) -> None:
        self._run(batch, *self._decoded(batch))

    def _decoded(self, batch: Batch) -> tuple[Sequence[Any], Sequence[Any]]:
        keys = self._key_serde.deserialize_many(batch.keys.to_pylist())
        return keys, self._value_serde.deserialize_many(batch.values.to_pylist())

    def _run(self, batch: Batch, keys: Sequence[Any], values: Sequence[Any]) -> None:
        take, cursor = self._take, self._cursor
        for fold in self._folds:
            fold.begin(batch, self._key_serde)
        for end in self._ends:
            end.begin(batch)
        records = zip(keys, values, batch.timestamps.tolist(), strict=True)
        try:
            for row, (key, value, timestamp_ms) in enumerate(records):
                cursor.row, cursor.timestamp_ms = row, timestamp_ms
                take(key, value)
            for end in self._ends:
                end.seal()
        except RowError:
            raise
        except Exception as error:
            raise RowError(error, int(batch.positions[cursor.row])) from error
        for fold in self._folds:
            fold.end()
        for end in self._ends:
            end.flush()
