"""The time an operator has observed: the highest timestamp that reached it, kept over restarts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from headrace._core.columnar.groups import Groups, Ints
from headrace._core.task.context import TaskContext
from headrace._state.bytes.api import ByteStore
from headrace._state.stores.key_value import KeyValueStore

_TIME = struct.Struct(">q")
_UNKNOWN = _TIME.pack(-1)


def stream_time(context: TaskContext, operator: str, stream_times: str, key_times: str | None) -> StreamTime:
    """The time of an operator: one for each key if there is a store of key times, else one for all."""
    if key_times is not None:
        return KeyTime(context.store(key_times))
    return OperatorTime(context.store(stream_times), operator)


class Moves(NamedTuple):
    """Keys whose own time moved on in a batch: from where (-1 for a new key), to where, and their lowest timestamp."""

    keys: Sequence[bytes]
    before: Ints
    after: Ints
    lowest: Ints


_NO_MOVES = Moves((), *[np.empty(0, np.int64)] * 3)


class StreamTime(Protocol):
    """Tells how far time has come, for the operator or for each key."""

    @property
    def by_key(self) -> bool: ...

    def advance(self, key: Any, timestamp_ms: int) -> int:
        """Takes the timestamp of a record into account and returns the time that now counts for its key."""
        ...

    def reached(self, key: Any) -> int:
        """The time that counts for a key now; -1 before the first record."""
        ...

    def advance_many(self, keys: pa.Array, timestamps: Ints) -> tuple[Ints, Moves]:
        """`advance` for many records, with their keys as the bytes of the store's serde; and which keys moved on."""
        ...


class KeyTime:
    """A time for every key, in a store that can be queried.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> time = KeyTime(KeyValueStore(MemoryStore(), serdes.String(), serdes.Long()))
        >>> time.advance("a", 5), time.advance("b", 3), time.advance("a", 4)
        (5, 3, 5)
    """

    by_key = True

    def __init__(self, times: KeyValueStore[Any, int]) -> None:
        self._times = times

    def advance(self, key: Any, timestamp_ms: int) -> int:
        known = self._times.get(key)
        if known is not None and known >= timestamp_ms:
            return known
        self._times.put(key, timestamp_ms)
        return timestamp_ms

    def reached_many(self, keys: Sequence[bytes]) -> Ints:
        """The times of keys in bytes, -1 of those not seen yet."""
        stored = b"".join(raw or _UNKNOWN for raw in self._times.contents.get_many(keys))
        return np.frombuffer(stored, ">i8").astype(np.int64)

    def reached(self, key: Any) -> int:
        known = self._times.get(key)
        return -1 if known is None else known

    def advance_many(self, keys: pa.Array, timestamps: Ints) -> tuple[Ints, Moves]:
        encoded = keys.dictionary_encode()
        distinct: list[bytes] = encoded.dictionary.to_pylist()
        rows = Groups(encoded.indices.to_numpy(), len(distinct))
        known = self.reached_many(distinct)
        times = rows.running_max(timestamps, known)
        reached = rows.last(times)
        raw = reached.astype(">i8").tobytes()
        moved = np.flatnonzero(reached > known)
        keys_moved = [distinct[row] for row in moved.tolist()]
        self._times.contents.put_many(
            (key, raw[8 * row : 8 * row + 8]) for key, row in zip(keys_moved, moved.tolist(), strict=True)
        )
        return times, Moves(keys_moved, known[moved], reached[moved], rows.lowest(timestamps)[moved])


class OperatorTime:
    """One time for all keys, as Kafka Streams has it.

    Example:
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> kept = MemoryStore()
        >>> time = OperatorTime(kept, "windows")
        >>> time.advance("a", 5), time.advance("b", 3), OperatorTime(kept, "windows").advance("c", 0)
        (5, 5, 5)
    """

    by_key = False

    def __init__(self, kept: ByteStore, operator: str) -> None:
        self._kept = kept
        self._kept_under = operator.encode()
        stored = kept.get(self._kept_under)
        self._time_ms: int = -1 if stored is None else _TIME.unpack(stored)[0]

    def advance(self, key: Any, timestamp_ms: int) -> int:  # noqa: ARG002
        if timestamp_ms > self._time_ms:
            self._time_ms = timestamp_ms
            self._kept.put(self._kept_under, _TIME.pack(timestamp_ms))
        return self._time_ms

    def reached(self, key: Any) -> int:  # noqa: ARG002
        return self._time_ms

    def advance_many(self, keys: pa.Array, timestamps: Ints) -> tuple[Ints, Moves]:  # noqa: ARG002
        times: Ints = np.maximum(np.maximum.accumulate(timestamps), self._time_ms)
        if len(times):
            self.advance(None, int(times[-1]))
        return times, _NO_MOVES
