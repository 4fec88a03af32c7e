"""A batch: records in columns, with keys and values in the bytes of known serdes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.model.record import Headers

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class Batch(NamedTuple):
    """Records in the one order.

    For each record, `positions` has an index into the `order` of the task's context: there is the position of the input
    record that it descends from.
    """

    keys: pa.Array
    values: pa.Array
    timestamps: npt.NDArray[np.int64]
    headers: pa.Array | None
    positions: npt.NDArray[np.intp]

    def where(self, mask: pa.Array) -> Batch:
        """The records for which `mask` is true. The mask must not have nulls."""
        return self._select(mask.to_numpy(zero_copy_only=False), lambda column: column.filter(mask))

    def take(self, rows: npt.NDArray[np.int64]) -> Batch:
        """The records in these rows, in the order of `rows`."""
        chosen = pa.array(rows)
        return self._select(rows, lambda column: column.take(chosen))

    def slice(self, start: int, stop: int) -> Batch:
        """The records from row `start` to before row `stop`."""
        return self._select(slice(start, stop), lambda column: column.slice(start, stop - start))

    def _select(self, rows: Any, select: Callable[[pa.Array], pa.Array]) -> Batch:
        """The records in some rows: `rows` is a NumPy index, and `select` selects the same rows of an Arrow column."""
        return Batch(
            select(self.keys),
            select(self.values),
            self.timestamps[rows],
            None if self.headers is None else select(self.headers),
            self.positions[rows],
        )


def headers_of(batch: Batch, rows: npt.NDArray[np.int64]) -> list[Headers]:
    """The headers of the records in these rows."""
    if batch.headers is None:
        return [()] * len(rows)
    return [
        tuple((header["key"], header["value"]) for header in listed or ())
        for listed in batch.headers.take(pa.array(rows)).to_pylist()
    ]


def headers_column(listed: Sequence[Headers]) -> pa.Array | None:
    """Returns the headers of each record as a column, or `None` if no record has any."""
    if not any(listed):
        return None
    return pa.array([[{"key": key, "value": value} for key, value in headers] or None for headers in listed], _HEADERS)


def of_records(records: pa.RecordBatch, first_position: int) -> Batch:
    """A batch of consecutive records of the task's input, the first of them at `first_position`."""
    return Batch(
        records.column("key"),
        records.column("value"),
        records.column("timestamp").to_numpy(),
        records.column("headers") if "headers" in records.schema.names else None,
        np.arange(first_position, first_position + records.num_rows, dtype=np.intp),
    )


def longs(numbers: npt.NDArray[np.int64]) -> pa.Array:
    """Whole numbers as the bytes of `serdes.Long()`."""
    offsets = np.arange(0, 8 * (len(numbers) + 1), 8, dtype=np.int32)
    data = numbers.astype(">i8").tobytes()
    return pa.Array.from_buffers(pa.binary(), len(numbers), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
