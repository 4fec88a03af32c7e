"""The blob of a delta or slice: for each store, its sorted keys and their values in two Arrow columns, compressed.

A null value is a delete. Keys are sorted because LMDB writes sorted keys fastest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pyarrow as pa

from headrace._state.bytes.envelope import seal, unseal
from headrace.errors import StateError


class Columns(NamedTuple):
    """Keys in ascending order and the value of each; `None` deletes."""

    keys: list[bytes]
    values: list[bytes | None]

    def between(self, start: bytes, end: bytes | None) -> Columns:
        """The entries from `start` (inclusive) to `end` (exclusive)."""
        first = bisect_left(self.keys, start)
        last = len(self.keys) if end is None else bisect_left(self.keys, end)
        return Columns(self.keys[first:last], self.values[first:last])


class EncodedColumns(NamedTuple):
    """A blob, and its size before compression, by which compaction compares deltas and slices."""

    blob: bytes
    size: int


Changes: TypeAlias = Mapping[str, Mapping[bytes, bytes | None]]
Delta: TypeAlias = dict[str, Columns]

# 64-bit offsets: the values of one store may exceed 2 GiB. One thread: a task has one core.
_SCHEMA = pa.schema([("key", pa.large_binary()), ("value", pa.large_binary())])
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
_STORES = b"stores"


def sort_changes(changes: Changes) -> Delta:
    """Sorts the keys of each store."""
    ordered: Delta = {}
    for store, entries in changes.items():
        keys = sorted(entries)
        ordered[store] = Columns(keys, list(map(entries.__getitem__, keys)))
    return ordered


def encode_columns(delta: Mapping[str, Columns]) -> EncodedColumns:
    """Encodes keys and values of all stores of a task as one blob."""
    size = 0
    sink = pa.BufferOutputStream()
    schema = _SCHEMA.with_metadata({_STORES: msgspec.msgpack.encode(list(delta))})
    with pa.ipc.new_stream(sink, schema, options=_OPTIONS) as writer:
        for columns in delta.values():
            arrays = [pa.array(column, pa.large_binary()) for column in columns]
            size += sum(array.nbytes for array in arrays)
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return EncodedColumns(seal(memoryview(sink.getvalue())), size)


def decode_columns(blob: bytes, describe: str) -> Delta:
    """Decodes a blob into the keys and values of each store.

    Raises:
        StateError: if the blob is damaged or of another format; the message starts with `describe`.
    """
    payload = unseal(blob, describe)
    try:
        reader = pa.ipc.open_stream(pa.py_buffer(payload))
        stores = msgspec.msgpack.decode(reader.schema.metadata[_STORES], type=list[str])
        batches = [reader.read_next_batch() for _ in stores]
    except (pa.ArrowException, msgspec.MsgspecError, TypeError, KeyError, StopIteration) as error:
        message = f"{describe}: the stored blob has the right checksum, but is not a delta or slice: {error}"
        raise StateError(message) from error
    return {
        store: Columns(_as_list(batch.column(0)), _as_list(batch.column(1)))
        for store, batch in zip(stores, batches, strict=True)
    }


def _as_list(column: Any) -> list[Any]:
    # Through numpy: several times faster than to_pylist() in the older pyarrow versions allowed.
    values: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
    return values
