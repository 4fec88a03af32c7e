"""What queries see of session stores, over the stores of all tasks: values, with headers on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any, ClassVar, Generic, TypeVar

from headrace._state.stores.session import Sessions, TypedSessionStore, TypedSessionStoreWithHeaders
from headrace._state.views.shown import ShownReads
from headrace.model.stores.interfaces import AggregationWithHeaders
from headrace.model.time.windows import Windowed

K = TypeVar("K")
V = TypeVar("V")

_Sessions = Iterator[tuple[Windowed[K], V]]


class _SessionReads(ShownReads[Sessions[K, Any], V], Generic[K, V]):
    """Reads of session stores. At most one of `parts` has sessions of a key; each has its own clock."""

    _public_name: ClassVar[str] = "ReadOnlySessionStore"

    def fetch(self, key: K) -> _Sessions[K, V]:
        """All sessions of a key, by end, then start."""
        return self._merged([part.fetch(key) for part in self._parts])

    def backward_fetch(self, key: K) -> _Sessions[K, V]:
        """All sessions of a key, from the last to the first."""
        return self._merged([part.backward_fetch(key) for part in self._parts], reverse=True)

    def fetch_range(self, from_key: K | None = None, to_key: K | None = None) -> _Sessions[K, V]:
        """All sessions of a range of keys, both inclusive, by serialized key, end, start; `None` is an open end."""
        return self._merged([part.fetch_range(from_key, to_key) for part in self._parts])

    def backward_fetch_range(self, from_key: K | None = None, to_key: K | None = None) -> _Sessions[K, V]:
        """The sessions of `fetch_range`, from the last to the first."""
        return self._merged([part.backward_fetch_range(from_key, to_key) for part in self._parts], reverse=True)

    def fetch_session(self, key: K, start_ms: int, end_ms: int) -> V | None:
        """The value of the session with exactly these bounds; `None` if there is none or it has expired."""
        return self._first(part.fetch_session(key, start_ms, end_ms) for part in self._parts)

    def find_sessions(self, key: K, earliest_end_ms: int, latest_start_ms: int) -> _Sessions[K, V]:
        """Sessions of a key that end at `earliest_end_ms` or later and start at `latest_start_ms` or earlier.

        They are ordered by end, then start.
        """
        return self._merged([part.find_sessions(key, earliest_end_ms, latest_start_ms) for part in self._parts])

    def backward_find_sessions(self, key: K, earliest_end_ms: int, latest_start_ms: int) -> _Sessions[K, V]:
        """The sessions of `find_sessions`, from the last to the first."""
        found = [part.backward_find_sessions(key, earliest_end_ms, latest_start_ms) for part in self._parts]
        return self._merged(found, reverse=True)

    def find_sessions_range(
        self, from_key: K | None, to_key: K | None, earliest_end_ms: int, latest_start_ms: int
    ) -> _Sessions[K, V]:
        """The sessions that `find_sessions` yields for a range of keys, by serialized key, end, start.

        Both keys are inclusive; `None` is an open end.
        """
        wanted = from_key, to_key, earliest_end_ms, latest_start_ms
        return self._merged([part.find_sessions_range(*wanted) for part in self._parts])

    def backward_find_sessions_range(
        self, from_key: K | None, to_key: K | None, earliest_end_ms: int, latest_start_ms: int
    ) -> _Sessions[K, V]:
        """The sessions of `find_sessions_range`, from the last to the first."""
        wanted = from_key, to_key, earliest_end_ms, latest_start_ms
        return self._merged([part.backward_find_sessions_range(*wanted) for part in self._parts], reverse=True)

    def find_sessions_by_end(self, earliest_end_ms: int, latest_end_ms: int) -> _Sessions[K, V]:
        """Sessions of all keys that end between two times, both inclusive, by serialized key, end, start."""
        return self._merged([part.find_sessions_by_end(earliest_end_ms, latest_end_ms) for part in self._parts])

    def all(self) -> _Sessions[K, V]:
        """All sessions, by serialized key, end, start."""
        return self.fetch_range()

    def backward_all(self) -> _Sessions[K, V]:
        """All sessions, from the last to the first."""
        return self.backward_fetch_range()

    def _merged(self, found: Sequence[_Sessions[K, Any]], *, reverse: bool = False) -> _Sessions[K, V]:
        return self._shown(merge(*found, key=self._order, reverse=reverse))

    def _order(self, entry: tuple[Windowed[K], Any]) -> tuple[bytes | None, int, int]:
        windowed = entry[0]
        return self._parts[0].key_serde.serialize(windowed.key), windowed.window.end_ms, windowed.window.start_ms


class SessionView(_SessionReads[K, V]):
    """Read-only access to a committed session store, as `app.store()` returns it.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.retention_clocks import StoreClock
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> from headrace.model.time.windows import Window
        >>> contents = MemoryStore()
        >>> store = TypedSessionStore(contents, StoreClock(contents, retention_ms=20), serdes.String(), serdes.Long())
        >>> store.put(Windowed("bern", Window(0, 5)), 3)
        >>> [(str(windowed), value) for windowed, value in SessionView([store]).fetch("bern")]
        [('[bern@0/5]', 3)]
    """

    def __init__(self, parts: Sequence[TypedSessionStore[K, V]]) -> None:
        super().__init__(parts, None)


class SessionViewWithHeaders(_SessionReads[K, V]):
    """Read-only access to a committed session store with headers: reads return just the values."""

    _public_name: ClassVar[str] = "ReadOnlySessionStoreWithHeaders"

    def __init__(self, parts: Sequence[TypedSessionStoreWithHeaders[K, V]]) -> None:
        super().__init__(parts, itemgetter(0))

    def with_headers(self) -> _SessionReads[K, AggregationWithHeaders[V]]:
        """The same store, with reads that return values with their headers."""
        return _SessionReads(self._parts, None)
