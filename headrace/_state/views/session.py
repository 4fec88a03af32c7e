"""Read-only session stores for queries, over the stores of all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Generic, TypeVar

from headrace._state.stores.session import TypedSessionStore
from headrace._suggestions.attributes import suggest_attributes
from headrace.model.windows import Windowed

K = TypeVar("K")
V = TypeVar("V")

_Sessions = Iterator[tuple[Windowed[K], V]]


@suggest_attributes
class SessionView(Generic[K, V]):
    """A session store for reading. At most one part has sessions of a key; each part has its own clock.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.clocks import StoreClock
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> from headrace.model.windows import Window
        >>> contents = MemoryStore()
        >>> store = TypedSessionStore(contents, StoreClock(contents, retention_ms=20), serdes.String(), serdes.Long())
        >>> store.put(Windowed("bern", Window(0, 5)), 3)
        >>> [(str(windowed), value) for windowed, value in SessionView([store]).fetch("bern")]
        [('[bern@0/5]', 3)]
    """

    def __init__(self, parts: Sequence[TypedSessionStore[K, V]]) -> None:
        self._parts = tuple(parts)

    def fetch(self, key: K) -> _Sessions[K, V]:
        """All sessions of a key, by end, then start."""
        return merge(*(part.fetch(key) for part in self._parts), key=self._order)

    def fetch_range(self, from_key: K | None = None, to_key: K | None = None) -> _Sessions[K, V]:
        """All sessions of the keys from one to another, both inclusive, by serialized key, end, start."""
        return merge(*(part.fetch_range(from_key, to_key) for part in self._parts), key=self._order)

    def fetch_session(self, key: K, start_ms: int, end_ms: int) -> V | None:
        """The value of one session, or `None`."""
        found = (part.fetch_session(key, start_ms, end_ms) for part in self._parts)
        return next((value for value in found if value is not None), None)

    def find_sessions(self, key: K, earliest_end_ms: int, latest_start_ms: int) -> _Sessions[K, V]:
        """Sessions of a key that end no earlier than one time and start no later than another, by end, then start."""
        found = (part.find_sessions(key, earliest_end_ms, latest_start_ms) for part in self._parts)
        return merge(*found, key=self._order)

    def all(self) -> _Sessions[K, V]:
        """All sessions, by serialized key, end, start."""
        return self.fetch_range()

    def _order(self, entry: tuple[Windowed[K], V]) -> tuple[bytes | None, int, int]:
        windowed = entry[0]
        return self._parts[0].key_serde.serialize(windowed.key), windowed.window.end_ms, windowed.window.start_ms
