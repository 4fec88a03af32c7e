"""Session stores: values by key and session, which expire when the retention has passed after the session's end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import MAX_TIME, TIME_SIZE, time_at, time_bytes, unescape_key
from headrace._state.layouts.expiring_entries import timed_entries
from headrace._state.layouts.headers import decode_headers, encode_headers
from headrace._state.layouts.retention_clocks import RetentionClock
from headrace._state.layouts.typed import TypedStore
from headrace.model.record import Headers
from headrace.model.stores.interfaces import AggregationWithHeaders
from headrace.model.time.windows import Window, Windowed
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")

_END = -2 * TIME_SIZE
_START = -TIME_SIZE


class Sessions(TypedStore[K], Generic[K, S]):
    """The base class of session stores. `S` is the type of what reads return for a session.

    The end of a session is inclusive. A session expires when the clock has reached its end plus the retention; the
    clock is at the highest end put so far. The sessions of a key are ordered by end, then start.
    """

    def __init__(
        self,
        contents: ByteStore,
        clock: RetentionClock,
        key_serde: Serde[K],
        value_serde: Serde[Any],
        *,
        name: str = "",
    ) -> None:
        super().__init__(contents, key_serde, value_serde, name=name)
        self._entries = timed_entries(contents, clock, rest_size=TIME_SIZE)

    def remove(self, windowed: Windowed[K]) -> None:
        """Removes a session."""
        self._put_bytes(windowed, None)

    def fetch(self, key: K) -> Iterator[tuple[Windowed[K], S]]:
        """All sessions of a key, by end, then start."""
        return self.find_sessions(key, 0, MAX_TIME)

    def backward_fetch(self, key: K) -> Iterator[tuple[Windowed[K], S]]:
        """All sessions of a key, from the last to the first."""
        return self.backward_find_sessions(key, 0, MAX_TIME)

    def fetch_range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[Windowed[K], S]]:
        """All sessions of a range of keys, both inclusive, by serialized key, end, start; `None` is an open end."""
        return self._of_keys(from_key, to_key, 0, MAX_TIME)

    def backward_fetch_range(
        self, from_key: K | None = None, to_key: K | None = None
    ) -> Iterator[tuple[Windowed[K], S]]:
        """The sessions of `fetch_range`, from the last to the first."""
        return self._of_keys(from_key, to_key, 0, MAX_TIME, reverse=True)

    def fetch_session(self, key: K, start_ms: int, end_ms: int) -> S | None:
        """The value of one session, or `None`."""
        raw = None if start_ms < 0 else self._entries.get(self.key_bytes(key), end_ms, time_bytes(start_ms))
        return None if raw is None else self._decode_entry(raw)

    def find_sessions(self, key: K, earliest_end_ms: int, latest_start_ms: int) -> Iterator[tuple[Windowed[K], S]]:
        """Sessions of a key that end at `earliest_end_ms` or later and start at `latest_start_ms` or earlier.

        They are ordered by end, then start.
        """
        return self._of_key(key, earliest_end_ms, latest_start_ms, reverse=False)

    def backward_find_sessions(
        self, key: K, earliest_end_ms: int, latest_start_ms: int
    ) -> Iterator[tuple[Windowed[K], S]]:
        """The sessions of `find_sessions`, from the last to the first."""
        return self._of_key(key, earliest_end_ms, latest_start_ms, reverse=True)

    def find_sessions_range(
        self, from_key: K | None, to_key: K | None, earliest_end_ms: int, latest_start_ms: int
    ) -> Iterator[tuple[Windowed[K], S]]:
        """The sessions that `find_sessions` yields for a range of keys, by serialized key, end, start.

        Both keys are inclusive; `None` is an open end.
        """
        entries = self._of_keys(from_key, to_key, earliest_end_ms, MAX_TIME)
        return (entry for entry in entries if entry[0].window.start_ms <= latest_start_ms)

    def backward_find_sessions_range(
        self, from_key: K | None, to_key: K | None, earliest_end_ms: int, latest_start_ms: int
    ) -> Iterator[tuple[Windowed[K], S]]:
        """The sessions of `find_sessions_range`, from the last to the first."""
        entries = self._of_keys(from_key, to_key, earliest_end_ms, MAX_TIME, reverse=True)
        return (entry for entry in entries if entry[0].window.start_ms <= latest_start_ms)

    def find_sessions_by_end(self, earliest_end_ms: int, latest_end_ms: int) -> Iterator[tuple[Windowed[K], S]]:
        """Sessions of all keys that end between two times, both inclusive, by serialized key, end, start."""
        return self._of_keys(None, None, earliest_end_ms, latest_end_ms)

    def all(self) -> Iterator[tuple[Windowed[K], S]]:
        """All sessions, by serialized key, end, start."""
        return self.fetch_range()

    def backward_all(self) -> Iterator[tuple[Windowed[K], S]]:
        """All sessions, from the last to the first."""
        return self.backward_fetch_range()

    def _put_bytes(self, windowed: Windowed[K], raw: bytes | None) -> None:
        window = windowed.window
        self._entries.put(self.key_bytes(windowed.key), window.end_ms, time_bytes(window.start_ms), raw)

    def _of_key(
        self, key: K, earliest_end_ms: int, latest_start_ms: int, *, reverse: bool
    ) -> Iterator[tuple[Windowed[K], S]]:
        return (
            (_session(key, entry_key), self._decode_entry(raw))
            for entry_key, raw in self._entries.of_key(self.key_bytes(key), earliest_end_ms, MAX_TIME, reverse=reverse)
            if time_at(entry_key, _START) <= latest_start_ms
        )

    def _of_keys(
        self, from_key: K | None, to_key: K | None, earliest_end_ms: int, latest_end_ms: int, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], S]]:
        bounds = self._bounds(from_key, to_key)
        if bounds is None:
            return iter(())
        entries = self._entries.of_keys(*bounds, earliest_end_ms, latest_end_ms, reverse=reverse)
        return (
            (_session(self._read_key(unescape_key(entry_key[:_END])), entry_key), self._decode_entry(raw))
            for entry_key, raw in entries
        )


class TypedSessionStore(Sessions[K, V]):
    """Values by key and session; the end of a session is inclusive.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.retention_clocks import StoreClock
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

    def put(self, windowed: Windowed[K], value: V | None) -> None:
        """Stores the value of a session; `None` removes it."""
        self._put_bytes(windowed, self.value_serde.serialize(value))


class TypedSessionStoreWithHeaders(Sessions[K, AggregationWithHeaders[V]], Generic[K, V]):
    """Values by key and session, each with headers.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.retention_clocks import StoreClock
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> contents = MemoryStore()
        >>> clock = StoreClock(contents, retention_ms=20)
        >>> store = TypedSessionStoreWithHeaders(contents, clock, serdes.String(), serdes.Long())
        >>> store.put(Windowed("bern", Window(0, 5)), 3, (("trace", b"t1"),))
        >>> store.fetch_session("bern", 0, 5)
        AggregationWithHeaders(aggregation=3, headers=(('trace', b't1'),))
    """

    def put(self, windowed: Windowed[K], value: V | None, headers: Headers = ()) -> None:
        """Stores the value of a session, which is a key and a window, with headers; `None` removes the session."""
        raw = self.value_serde.serialize(value)
        self._put_bytes(windowed, None if raw is None else encode_headers(headers) + raw)

    def _decode_entry(self, raw: bytes) -> AggregationWithHeaders[V]:
        headers, start = decode_headers(raw, 0)
        return AggregationWithHeaders(self._read_value(raw[start:]), headers)


def _session(key: Any, entry_key: bytes) -> Windowed[Any]:
    return Windowed(key, Window(time_at(entry_key, _START), time_at(entry_key, _END)))
