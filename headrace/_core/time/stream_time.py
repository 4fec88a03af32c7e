"""Stream time: the highest timestamp that an operator has seen, stored so that it survives restarts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from headrace._core.columnar.groups import Groups, Ints
from headrace._core.task.context import TaskContext
from headrace._state.bytes.api import ByteStore
from headrace._state.stores.key_value import TypedKeyValueStore

_TIME = struct.Struct(">q")
_UNKNOWN = _TIME.pack(-1)


def stream_time(context: TaskContext, operator: str, stream_times: str, key_times: str | None) -> StreamTime:
    """The stream time of an operator: one per key if there is a store of key times, else one for all keys."""
    if key_times is not None:
        return KeyTime(context.store(key_times))
    return OperatorTime(context.store(stream_times), operator)


class KeyAdvances(NamedTuple):
    """The keys whose stream time a batch advanced, with one entry per key in each column.

    `before` (-1 for new keys) and `after` are the stream times, `lowest` is the key's lowest timestamp in the batch.
    """

    keys: Sequence[bytes]
    before: Ints
    after: Ints
    lowest: Ints


_NO_ADVANCES = KeyAdvances((), *[np.empty(0, np.int64)] * 3)


class StreamTime(Protocol):
    """The stream time of an operator, or of each of its keys."""

    @property
    def by_key(self) -> bool: ...

    def advance(self, key: Any, timestamp_ms: int) -> int:
        """Advances stream time to the timestamp of a record, unless it is later already, and returns it.

        If there is one stream time for all keys, `key` is ignored.
        """
        ...

    def current(self, key: Any) -> int:
        """The current stream time of a key; -1 before the first record."""
        ...

    def advance_many(self, keys: pa.Array, timestamps: Ints) -> tuple[Ints, KeyAdvances]:
        """Advances to the timestamps of many records, one after the other; `keys` are serialized.

        Returns the stream time after each record, and which keys were advanced. With one stream time for all keys, it
        reports none, because then windows do not expire key by key.
        """
        ...


class KeyTime:
    """A stream time for every key (KIP-540), in a store that can be queried.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> time = KeyTime(TypedKeyValueStore(MemoryStore(), serdes.String(), serdes.Long()))
        >>> time.advance("a", 5), time.advance("b", 3), time.advance("a", 4)
        (5, 3, 5)
    """

    by_key = True

    def __init__(self, times: TypedKeyValueStore[Any, int]) -> None:
        self._times = times

    def advance(self, key: Any, timestamp_ms: int) -> int:
        known = self._times.get(key)
        if known is not None and known >= timestamp_ms:
            return known
        self._times.put(key, timestamp_ms)
        return timestamp_ms

    def current_many(self, keys: Sequence[bytes]) -> Ints:
        """The stream times of serialized keys; -1 for keys not seen yet."""
        stored = b"".join(raw or _UNKNOWN for raw in self._times.contents.get_many(keys))
        return np.frombuffer(stored, ">i8").astype(np.int64)

    def current(self, key: Any) -> int:
        known = self._times.get(key)
        return -1 if known is None else known

    def advance_many(self, keys: pa.Array, timestamps: Ints) -> tuple[Ints, KeyAdvances]:
        encoded = keys.dictionary_encode()
        distinct: list[bytes] = encoded.dictionary.to_pylist()
        rows = Groups(encoded.indices.to_numpy(), len(distinct))
        known = self.current_many(distinct)
        times = rows.running_max(timestamps, known)
        after = rows.last(times)
        raw = after.astype(">i8").tobytes()
        moved = np.flatnonzero(after > known)
        keys_moved = [distinct[row] for row in moved.tolist()]
        self._times.contents.put_many(
            (key, raw[8 * row : 8 * row + 8]) for key, row in zip(keys_moved, moved.tolist(), strict=True)
        )
        return times, KeyAdvances(keys_moved, known[moved], after[moved], rows.lowest(timestamps)[moved])


class OperatorTime:
    """One stream time for all keys, as in Kafka Streams.

    Example:
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> times = MemoryStore()
        >>> time = OperatorTime(times, "windows")
        >>> time.advance("a", 5), time.advance("b", 3), OperatorTime(times, "windows").advance("c", 0)
        (5, 5, 5)
    """

    by_key = False

    def __init__(self, times: ByteStore, operator: str) -> None:
        self._times = times
        self._key = operator.encode()
        stored = times.get(self._key)
        self._time_ms: int = -1 if stored is None else _TIME.unpack(stored)[0]

    def advance(self, key: Any, timestamp_ms: int) -> int:  # noqa: ARG002
        if timestamp_ms > self._time_ms:
            self._time_ms = timestamp_ms
            self._times.put(self._key, _TIME.pack(timestamp_ms))
        return self._time_ms

    def current(self, key: Any) -> int:  # noqa: ARG002
        return self._time_ms

    def advance_many(self, keys: pa.Array, timestamps: Ints) -> tuple[Ints, KeyAdvances]:  # noqa: ARG002
        times: Ints = np.maximum(np.maximum.accumulate(timestamps), self._time_ms)
        if len(times):
            self.advance(None, int(times[-1]))
        return times, _NO_ADVANCES
