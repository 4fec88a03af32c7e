"""Kafka's default partitioner, murmur2 of the serialized key: the same partitions as Kafka's own clients choose.

The scalar form defines what is correct; the columnar form hashes all keys of one length at once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF

# Below this many keys of one length, setting up the numpy calls costs more than hashing one by one.
_MIN_GROUP = 12
# Bounds the matrix of keys that is hashed at once.
_MAX_GROUP_BYTES = 4 << 20


def murmur2(data: bytes) -> int:
    """Kafka's murmur2, as a signed 32-bit integer."""
    length = len(data)
    words = length >> 2
    h = _SEED ^ length
    for k in struct.unpack_from(f"<{words}I", data):
        k = k * _MULTIPLIER & _MASK
        h = (h * _MULTIPLIER ^ (k ^ k >> 24) * _MULTIPLIER) & _MASK
    if length & 3:
        h = (h ^ int.from_bytes(data[words << 2 :], "little")) * _MULTIPLIER & _MASK
    h = (h ^ h >> 13) * _MULTIPLIER & _MASK
    h ^= h >> 15
    return h - 0x1_0000_0000 if h > _POSITIVE else h


def partition_for(key: bytes, partitions: int, window_bytes: int | None = None) -> int:
    """The partition of a serialized key. If its last `window_bytes` encode a window, they do not count."""
    return (murmur2(key[:-window_bytes] if window_bytes else key) & _POSITIVE) % partitions


def output_partition(key: bytes | None, task: int, partitions: int, window_bytes: int | None = None) -> int:
    """The partition of a record that the task of partition `task` writes: that of its key.

    A record without a key goes to the partition of its task, so that it is the same after every restart.
    """
    return task % partitions if key is None else partition_for(key, partitions, window_bytes)


def partitions_for(keys: pa.Array | Sequence[bytes | None], partitions: int) -> npt.NDArray[np.int32]:
    """The partition of every serialized key of a column; -1 for a null key, which has none."""
    column = keys if isinstance(keys, pa.Array) else pa.array(keys, pa.binary())
    column = column.cast(pa.large_binary())
    _, offsets_buffer, data_buffer = column.buffers()
    result = np.full(len(column), -1, dtype=np.int32)
    if not len(column):
        return result
    offsets = np.frombuffer(offsets_buffer, np.int64)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    lengths = np.where(np.asarray(column.is_valid()), np.diff(offsets), -1)
    by_length = np.argsort(lengths, kind="stable")
    distinct, first = np.unique(lengths[by_length], return_index=True)
    for length, rows in zip(distinct.tolist(), np.split(by_length, first[1:]), strict=True):
        if length >= 0:
            hashes = _hash_group(data, offsets[rows], length)
            result[rows] = (hashes & np.uint32(_POSITIVE)) % np.uint32(partitions)
    return result


def _hash_group(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.uint32]:
    """The unsigned hashes of the keys of one length that start at these bytes."""
    if len(starts) < _MIN_GROUP or not length:
        scalar = [murmur2(data[start : start + length].tobytes()) & _MASK for start in starts.tolist()]
        return np.array(scalar, dtype=np.uint32)
    windows = np.lib.stride_tricks.sliding_window_view(data, length)
    step = max(1, _MAX_GROUP_BYTES // length)
    return np.concatenate([_hash_rows(windows[starts[i : i + step]]) for i in range(0, len(starts), step)])


def _hash_rows(keys: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """The unsigned hashes of a matrix with one key a row; uint32 arithmetic wraps as murmur2 requires."""
    count, length = keys.shape
    padded = np.zeros((count, (length + 3) & ~3), dtype=np.uint8)
    padded[:, :length] = keys
    words = padded.view("<u4")
    m = np.uint32(_MULTIPLIER)
    h = np.full(count, _SEED ^ length, dtype=np.uint32)
    for i in range(length >> 2):
        k = words[:, i] * m
        h = h * m ^ (k ^ k >> np.uint32(24)) * m
    if length & 3:
        h = (h ^ words[:, -1]) * m
    h = (h ^ h >> np.uint32(13)) * m
    return h ^ h >> np.uint32(15)
