"""Functions of keys and values, for a whole batch: called as on the record path, but no records are made in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace._core.columnar.batch import Batch
from headrace._core.columnar.failing import RowError, UndecodableError
from headrace._core.operators.function_operator import FunctionOperator, Take
from headrace.serdes import Serde

_MAX_ROWS = 50_000
_MAX_BYTES = 4 << 20
_SEALED_ROWS = 1_000


class Cursor:
    """Which row of a batch the functions are at."""

    __slots__ = ("row",)

    def __init__(self) -> None:
        self.row = 0


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
        self._rows: list[int] = []
        self._sealed: list[tuple[pa.Array, pa.Array, npt.NDArray[np.intp]]] = []

    def bound(self, children: Sequence[Take]) -> Take:  # noqa: ARG002
        add_key, add_value, add_row = self._keys.append, self._values.append, self._rows.append
        key_serde, value_serde = self._key_serde, self._value_serde
        key_to_bytes, value_to_bytes = key_serde.serialize, value_serde.serialize
        key_type, value_type = key_serde.plain, value_serde.plain

        def encode(key: Any, value: Any) -> None:
            add_key(key_to_bytes(key))
            add_value(value_to_bytes(value))
            add_row(self._cursor.row)

        def keep(key: Any, value: Any) -> None:
            if type(key) is not key_type:
                key = key_serde.deserialize(key_to_bytes(key))
            if type(value) is not value_type:
                value = value_serde.deserialize(value_to_bytes(value))
            add_key(key)
            add_value(value)
            add_row(self._cursor.row)

        return keep if self._keeps else encode

    def seal(self) -> None:
        """Makes columns of what was gathered since; if something cannot be encoded, the cursor is then at its row."""
        if not self._rows:
            return
        columns = self._encoded() if self._keeps else [pa.array(c, pa.binary()) for c in (self._keys, self._values)]
        self._sealed.append((*columns, np.array(self._rows, np.intp)))
        for gathered in (self._keys, self._values, self._rows):
            gathered.clear()

    @property
    def is_full(self) -> bool:
        """Whether there is enough for a batch."""
        rows = sum(len(keys) for keys, *_ in self._sealed)
        return rows >= _MAX_ROWS or sum(values.nbytes for _, values, _ in self._sealed) >= _MAX_BYTES

    def flush(self, batch: Batch) -> None:
        """Hands on what was sealed, made of the records of a batch."""
        if not self._sealed:
            return
        keys, values, rows = zip(*self._sealed, strict=True)
        self._sealed.clear()
        chosen = np.concatenate(rows)
        self._form(
            Batch(
                pa.concat_arrays(keys),
                pa.concat_arrays(values),
                batch.timestamps[chosen],
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
    """Decodes a batch and has every record go its way through all functions before the next, as on the record path."""

    def __init__(
        self, key_serde: Serde[Any], value_serde: Serde[Any], cursor: Cursor, take: Take, ends: Sequence[Gathered]
    ) -> None:
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._cursor = cursor
        self._take = take
        self._ends = ends

    def __call__(self, batch: Batch) -> None:
        keys, values = self._decoded(batch)
        for start in range(0, len(keys), _SEALED_ROWS):
            self._run(batch, keys, values, range(start, min(start + _SEALED_ROWS, len(keys))))
            for end in self._ends:
                if end.is_full:
                    end.flush(batch)
        for end in self._ends:
            end.flush(batch)

    def _decoded(self, batch: Batch) -> tuple[Sequence[Any], Sequence[Any]]:
        try:
            keys = self._key_serde.deserialize_many(batch.keys.to_pylist())
            return keys, self._value_serde.deserialize_many(batch.values.to_pylist())
        except Exception as error:
            raise UndecodableError from error

    def _run(self, batch: Batch, keys: Sequence[Any], values: Sequence[Any], rows: range) -> None:
        take, cursor = self._take, self._cursor
        try:
            for row in rows:
                cursor.row = row
                take(keys[row], values[row])
            for end in self._ends:
                end.seal()
        except Exception as error:
            row = cursor.row
            raise RowError(error, int(batch.positions[row]), keys[row], int(batch.timestamps[row])) from error
