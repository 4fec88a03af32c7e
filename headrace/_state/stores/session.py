"""Session stores: values by key and session, which expire a retention after the session's end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import MAX_TIME, TIME_SIZE, time_at, time_bytes, unescape_key
from headrace._state.layouts.clocks import RetentionClock
from headrace._state.layouts.timed import timed_entries
from headrace._state.layouts.typed import TypedStore
from headrace.model.windows import Window, Windowed
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")

_END = -2 * TIME_SIZE
_START = -TIME_SIZE


class TypedSessionStore(TypedStore[K], Generic[K, V]):
    """Values by key and session; the end of a session is inclusive.

    A session expires when the clock has reached its end plus the retention; the clock has the highest end put. Sessions
    of a key order by end, then start.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.clocks import StoreClock
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> contents = MemoryStore()
        >>> store = TypedSessionStore(contents, StoreClock(contents, retention_ms=20), serdes.String(), serdes.Long())
        >>> store.put(Windowed("bern", Window(0, 5)), 3), store.put(Windowed("bern", Window(9, 9)), 1)
        (None, None)
        >>> [(str(windowed), value) for windowed, value in store.find_sessions("bern", 5, 7)]
        [('[bern@0/5]', 3)]
        >>> store.remove(Windowed("bern", Window(0, 5)))
        >>> [(str(windowed), value) for windowed, value in store.fetch("bern")]
        [('[bern@9/9]', 1)]
    """

    def __init__(
        self,
        contents: ByteStore,
        clock: RetentionClock,
        key_serde: Serde[K],
        value_serde: Serde[V],
        *,
        name: str = "",
    ) -> None:
        super().__init__(key_serde, value_serde, name)
        self.contents = contents
        self._entries = timed_entries(contents, clock, rest_size=TIME_SIZE)

    def put(self, windowed: Windowed[K], value: V | None) -> None:
        """Stores the value of a session; `None` removes it."""
        window = windowed.window
        raw = self.value_serde.serialize(value)
        self._entries.put(self.key_bytes(windowed.key), window.end_ms, time_bytes(window.start_ms), raw)

    def remove(self, windowed: Windowed[K]) -> None:
        """Removes a session."""
        self.put(windowed, None)

    def fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key, by end, then start."""
        return self.find_sessions(key, 0, MAX_TIME)

    def fetch_range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of the keys from one to another, both inclusive, by serialized key, end, start."""
        bounds = self._bounds(from_key, to_key)
        if bounds is None:
            return iter(())
        entries = self._entries.of_keys(*bounds, 0, MAX_TIME)
        return (
            (_session(self._read_key(unescape_key(entry_key[:_END])), entry_key), self._read_value(raw))
            for entry_key, raw in entries
        )

    def fetch_session(self, key: K, start_ms: int, end_ms: int) -> V | None:
        """The value of one session, or `None`."""
        raw = None if start_ms < 0 else self._entries.get(self.key_bytes(key), end_ms, time_bytes(start_ms))
        return None if raw is None else self._read_value(raw)

    def find_sessions(self, key: K, earliest_end_ms: int, latest_start_ms: int) -> Iterator[tuple[Windowed[K], V]]:
        """Sessions of a key that end no earlier than one time and start no later than another, by end, then start."""
        return (
            (_session(key, entry_key), self._read_value(raw))
            for entry_key, raw in self._entries.of_key(self.key_bytes(key), earliest_end_ms, MAX_TIME)
            if time_at(entry_key, _START) <= latest_start_ms
        )

    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions, by serialized key, end, start."""
        return self.fetch_range()


def _session(key: Any, entry_key: bytes) -> Windowed[Any]:
    return Windowed(key, Window(time_at(entry_key, _START), time_at(entry_key, _END)))
