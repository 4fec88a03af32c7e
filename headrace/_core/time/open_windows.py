"""Results held back until their window closes, in the order in which windows close."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import (
    BY_KEY_AND_TIME,
    BY_TIME,
    USAGE,
    escape_key,
    time_at,
    time_bytes,
    unescape_key,
)
from headrace._state.stores.key_value import TIMESTAMP_SIZE, timestamp_of, with_timestamp
from headrace.model.time.windows import Window, Windowed
from headrace.serdes import Serde

_TIMES = 16
_COUNT = struct.Struct(">Q")


class ClosedWindow(NamedTuple):
    """A window that has closed, and its last result."""

    windowed: Windowed[Any]
    value: Any
    timestamp_ms: int


class OpenWindows:
    """A buffer with the last result of every open window, ordered by the window's end, its start, and the key bytes.

    With `by_key`, each key has its own stream time and closes its own windows. Results are then stored by key, so that
    closing the windows of one key reads no others, and an index by time finds the oldest window of all keys.
    """

    def __init__(self, store: ByteStore, key_serde: Serde[Any], value_serde: Serde[Any], *, by_key: bool) -> None:
        self._store = store
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._by_key = by_key

    def put(self, windowed: Windowed[Any], value: Any, timestamp_ms: int) -> None:
        """Replaces the result of a window; `None` removes it."""
        raw = self._value_serde.serialize(value)
        if raw is None:
            self.remove(windowed)
            return
        entry_key = self._entry_key(windowed)
        if self._store.get(entry_key) is None:
            self._add_to_count(1)
            if self._by_key:
                self._store.put(_by_time(windowed.window, self._key_bytes(windowed.key)), b"")
        self._store.put(entry_key, with_timestamp(raw, timestamp_ms))

    def remove(self, windowed: Windowed[Any]) -> None:
        entry_key = self._entry_key(windowed)
        if self._store.get(entry_key) is not None:
            self._remove(entry_key, windowed)

    def remove_closed(self, key: Any, last_end_ms: int) -> Iterator[ClosedWindow]:
        """Removes and yields the results of windows that end no later than `last_end_ms`, in order.

        With `by_key`, only the results of `key`, which is the key without a window. Otherwise `key` is ignored. Each
        result is removed just before it is yielded.
        """
        if last_end_ms < 0:
            return
        prefix = BY_KEY_AND_TIME + escape_key(self._key_bytes(key)) if self._by_key else BY_TIME
        for entry_key, raw in self._store.range(prefix, prefix + time_bytes(last_end_ms + 1)):
            windowed = self._windowed(entry_key)
            self._remove(entry_key, windowed)
            yield ClosedWindow(windowed, self._value_serde.deserialize(raw[TIMESTAMP_SIZE:]), timestamp_of(raw))

    def count(self) -> int:
        """The number of results held back. Reads a stored counter instead of the results."""
        raw = self._store.get(USAGE)
        count: int = 0 if raw is None else _COUNT.unpack(raw)[0]
        return count

    def oldest(self) -> Windowed[Any] | None:
        """The window that ends first, of all keys; `None` if no result is held back. Reads only this one."""
        first = next(self._store.prefix(BY_TIME), None)
        return None if first is None else self._from_time_key(first[0])

    def _remove(self, entry_key: bytes, windowed: Windowed[Any]) -> None:
        self._store.delete(entry_key)
        if self._by_key:
            self._store.delete(_by_time(windowed.window, self._key_bytes(windowed.key)))
        self._add_to_count(-1)

    def _add_to_count(self, more: int) -> None:
        self._store.put(USAGE, _COUNT.pack(self.count() + more))

    def _entry_key(self, windowed: Windowed[Any]) -> bytes:
        key_bytes = self._key_bytes(windowed.key)
        if self._by_key:
            return BY_KEY_AND_TIME + escape_key(key_bytes) + _times(windowed.window)
        return _by_time(windowed.window, key_bytes)

    def _windowed(self, entry_key: bytes) -> Windowed[Any]:
        if not self._by_key:
            return self._from_time_key(entry_key)
        return self._read(unescape_key(entry_key[1:-_TIMES]), entry_key[-_TIMES:])

    def _from_time_key(self, entry_key: bytes) -> Windowed[Any]:
        return self._read(entry_key[1 + _TIMES :], entry_key[1 : 1 + _TIMES])

    def _read(self, key_bytes: bytes, times: bytes) -> Windowed[Any]:
        return Windowed(self._key_serde.deserialize(key_bytes), Window(time_at(times, 8), time_at(times, 0)))

    def _key_bytes(self, key: Any) -> bytes:
        raw = self._key_serde.serialize(key)
        assert raw is not None
        return raw


def _times(window: Window) -> bytes:
    return time_bytes(window.end_ms) + time_bytes(window.start_ms)


def _by_time(window: Window, key_bytes: bytes) -> bytes:
    return BY_TIME + _times(window) + key_bytes
