"""Results that wait for their window to close, in the order in which windows close."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from headrace._state.api import ByteStore
from headrace._state.composite import escaped, time_at, time_bytes, unescaped
from headrace._state.stores import TIMESTAMP_SIZE, timestamp_of, with_timestamp
from headrace.serdes import Serde
from headrace.windows import Window, Windowed

_TIMES = 16


class Final(NamedTuple):
    """The last result of a window."""

    windowed: Windowed[Any]
    value: Any
    timestamp_ms: int


class OpenWindows:
    """The last result of every open window. `by_key` keeps those of a key together: each key closes its own.

    Results order by the end of their window, then its start, then key bytes.
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
        else:
            self._kept.put(self._place(windowed), with_timestamp(raw, timestamp_ms))

    def remove(self, windowed: Windowed[Any]) -> None:
        self._kept.delete(self._place(windowed))

    def take_closed(self, key: Any, last_end_ms: int) -> Iterator[Final]:
        """Removes and returns the results of windows that end no later; only of this key, if each has its own time."""
        if last_end_ms < 0:
            return
        prefix = escaped(self._key_bytes(key)) if self._by_key else b""
        for place, raw in self._kept.range(prefix, prefix + time_bytes(last_end_ms + 1)):
            self._kept.delete(place)
            value = self._value_serde.deserialize(raw[TIMESTAMP_SIZE:])
            yield Final(self._windowed(place), value, timestamp_of(raw))

    def _place(self, windowed: Windowed[Any]) -> bytes:
        window = windowed.window
        times = time_bytes(window.end_ms) + time_bytes(window.start_ms)
        key_bytes = self._key_bytes(windowed.key)
        return escaped(key_bytes) + times if self._by_key else times + key_bytes

    def _windowed(self, place: bytes) -> Windowed[Any]:
        if self._by_key:
            key_bytes, times = unescaped(place[:-_TIMES]), place[-_TIMES:]
        else:
            times, key_bytes = place[:_TIMES], place[_TIMES:]
        return Windowed(self._key_serde.deserialize(key_bytes), Window(time_at(times, 8), time_at(times, 0)))

    def _key_bytes(self, key: Any) -> bytes:
        raw = self._key_serde.serialize(key)
        assert raw is not None
        return raw
