"""A task's durable log in Spark's state: a head, deltas by version, slices of the base."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming import StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from headrace.errors import StateError

_BLOB = StructType([StructField("blob", BinaryType(), nullable=True)])
_NUMBER = StructType([StructField("number", LongType(), nullable=True)])


class SparkDurableTask:
    """Implements `DurableTask` over the state of the current grouping key. All writes of a batch commit with it."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", _BLOB)
        self._deltas = handle.getMapState("deltas", _NUMBER, _BLOB)
        self._slices = handle.getMapState("slices", _NUMBER, _BLOB)

    def get_head(self) -> bytes | None:
        return _blob(self._head.get())

    def put_head(self, blob: bytes) -> None:
        self._head.update((blob,))

    def get_delta(self, version: int) -> bytes:
        return _present(self._deltas.getValue((version,)), f"delta of version {version}")

    def put_delta(self, version: int, blob: bytes) -> None:
        self._deltas.updateValue((version,), (blob,))

    def remove_delta(self, version: int) -> None:
        self._deltas.removeKey((version,))

    def get_slice(self, slice_id: int) -> bytes:
        return _present(self._slices.getValue((slice_id,)), f"slice {slice_id}")

    def put_slice(self, slice_id: int, blob: bytes) -> None:
        self._slices.updateValue((slice_id,), (blob,))

    def remove_slice(self, slice_id: int) -> None:
        self._slices.removeKey((slice_id,))


def _blob(row: tuple[Any, ...] | None) -> bytes | None:
    return None if row is None or row[0] is None else bytes(row[0])


def _present(row: tuple[Any, ...] | None, what: str) -> bytes:
    blob = _blob(row)
    if blob is None:
        message = f"The checkpoint holds no {what}, though its head names it; the checkpoint is damaged."
        raise StateError(message)
    return blob
