"""Results that wait for their window to close, in the order in which windows close."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import BY_KEY_AND_TIME, BY_TIME, USAGE, escaped, time_at, time_bytes, unescaped
from headrace._state.stores.key_value import TIMESTAMP_SIZE, timestamp_of, with_timestamp
from headrace.model.windows import Window, Windowed
from headrace.serdes import Serde

_TIMES = 16
_COUNT = struct.Struct(">Q")


class Final(NamedTuple):
    """The last result of a window."""

    windowed: Windowed[Any]
    value: Any
    timestamp_ms: int


class OpenWindows:
    """The last result of every open window. `by_key` keeps those of a key together: each key closes its own.

    Results order by the end of their window, then its start, then key bytes. How many there are is kept with them.
    """

    def __init__(self, kept: ByteStore, key_serde: Serde[Any], value_serde: Serde[Any], *, by_key: bool) -> None:
        self._kept = kept
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._by_key = by_key

    def put(self, windowed: Windowed[Any], value: Any, timestamp_ms: int) -> None:
        """Replaces the result of a window; a result of `None` is none."""
        raw = self._value_serde.serialize(value)
        if raw is None:
            self.remove(windowed)
            return
        place = self._place(windowed)
        if self._kept.get(place) is None:
            self._count(1)
            if self._by_key:
                self._kept.put(_by_time(windowed.window, self._key_bytes(windowed.key)), b"")
        self._kept.put(place, with_timestamp(raw, timestamp_ms))

    def remove(self, windowed: Windowed[Any]) -> None:
        place = self._place(windowed)
        if self._kept.get(place) is not None:
            self._remove(place, windowed)

    def take_closed(self, key: Any, last_end_ms: int) -> Iterator[Final]:
        """Removes and returns the results of windows that end no later; only of this key, if each has its own time."""
        if last_end_ms < 0:
            return
        prefix = BY_KEY_AND_TIME + escaped(self._key_bytes(key)) if self._by_key else BY_TIME
        for place, raw in self._kept.range(prefix, prefix + time_bytes(last_end_ms + 1)):
            windowed = self._windowed(place)
            self._remove(place, windowed)
            yield Final(windowed, self._value_serde.deserialize(raw[TIMESTAMP_SIZE:]), timestamp_of(raw))

    def waiting(self) -> int:
        """How many results wait; without looking at them."""
        raw = self._kept.get(USAGE)
        count: int = 0 if raw is None else _COUNT.unpack(raw)[0]
        return count

    def oldest(self) -> Windowed[Any] | None:
        """The first in order, of all keys; without looking at the others."""
        found = next(self._kept.prefix(BY_TIME), None)
        return None if found is None else self._of_time(found[0])

    def _remove(self, place: bytes, windowed: Windowed[Any]) -> None:
        self._kept.delete(place)
        if self._by_key:
            self._kept.delete(_by_time(windowed.window, self._key_bytes(windowed.key)))
        self._count(-1)

    def _count(self, more: int) -> None:
        self._kept.put(USAGE, _COUNT.pack(self.waiting() + more))

    def _place(self, windowed: Windowed[Any]) -> bytes:
        key_bytes = self._key_bytes(windowed.key)
        if self._by_key:
            return BY_KEY_AND_TIME + escaped(key_bytes) + _times(windowed.window)
        return _by_time(windowed.window, key_bytes)

    def _windowed(self, place: bytes) -> Windowed[Any]:
        if not self._by_key:
            return self._of_time(place)
        return self._read(unescaped(place[1:-_TIMES]), place[-_TIMES:])

    def _of_time(self, place: bytes) -> Windowed[Any]:
        return self._read(place[1 + _TIMES :], place[1 : 1 + _TIMES])

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
