"""Window stores: they hold values by key and window start. A value expires when the retention is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, cast, overload

from headrace._state.bytes.api import ByteStore
from headrace._state.bytes.composite import MAX_TIME, TIME_SIZE, time_at, unescape_key
from headrace._state.layouts.entries_by_key import EntriesByKey
from headrace._state.layouts.entry_lists import entry_lists
from headrace._state.layouts.expiring_entries import ExpiringEntries, TimedEntries, timed_entries
from headrace._state.layouts.headers import decode_headers, encode_headers
from headrace._state.layouts.retention_clocks import CallerClock, RetentionClock
from headrace._state.layouts.typed import TypedStore
from headrace._state.stores.key_value import TIMESTAMP_SIZE, timestamp_of, with_timestamp
from headrace.model.record import Headers
from headrace.model.stores.interfaces import ValueAndTimestamp, ValueTimestampHeaders
from headrace.model.time.windows import Windowed, Windows, sized_window
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S")


class BaseWindowStore(TypedStore[K], Generic[K, S]):
    """The base class of window stores. `S` is the type of what reads return for a window."""

    def __init__(
        self,
        contents: ByteStore,
        clock: RetentionClock,
        key_serde: Serde[K],
        value_serde: Serde[Any],
        *,
        window_size_ms: int,
        retain_duplicates: bool = False,
        windows: Windows | None = None,
        name: str = "",
    ) -> None:
        super().__init__(contents, key_serde, value_serde, name=name)
        self.clock = clock
        self.window_size_ms = window_size_ms
        self._windows = windows
        self.duplicates = entry_lists(contents, clock, window_size_ms) if retain_duplicates else None
        self._entries: ExpiringEntries = self.duplicates or timed_entries(contents, clock)

    @overload
    def fetch(self, key: K, start_ms: int, /) -> S | None: ...

    @overload
    def fetch(self, key: K, from_ms: int, to_ms: int) -> Iterator[tuple[int, S]]: ...

    def fetch(self, key: K, from_ms: int, to_ms: int | None = None) -> S | Iterator[tuple[int, S]] | None:
        """The value of the window that starts at a time, or `None`; of duplicates, the last one put.

        With two times, yields start and value of all windows that start between them, both inclusive.
        """
        key_bytes = self.key_bytes(key)
        if to_ms is not None:
            return self._by_start(self._entries.of_key(key_bytes, from_ms, to_ms))
        raw = self._entries.get(key_bytes, from_ms)
        return None if raw is None else self._decode_entry(raw)

    def backward_fetch(self, key: K, from_ms: int, to_ms: int) -> Iterator[tuple[int, S]]:
        """The windows of a key that start between two times, both inclusive, from the last to the first."""
        return self._by_start(self._entries.of_key(self.key_bytes(key), from_ms, to_ms, reverse=True))

    @overload
    def fetch_range(self, key: K, /, from_ms: int, to_ms: int) -> Iterator[tuple[int, S]]: ...

    @overload
    def fetch_range(
        self, from_key: K | None, to_key: K | None, /, from_ms: int, to_ms: int
    ) -> Iterator[tuple[Windowed[K], S]]: ...

    def fetch_range(self, *given: Any, from_ms: int | None = None, to_ms: int | None = None) -> Iterator[tuple[Any, S]]:
        """Windows of one key, or of all keys of a range, that start between two times; all ends are inclusive.

        Yields windows of one key with their start. Windows of several keys are yielded with their windowed key, by
        serialized key, then start. A key of `None` is an open end.
        """
        match [*given, *(time_ms for time_ms in (from_ms, to_ms) if time_ms is not None)]:
            case [key, first_ms, last_ms]:
                return self.fetch(key, first_ms, last_ms)
            case [from_key, to_key, first_ms, last_ms]:
                return self._of_keys(from_key, to_key, first_ms, last_ms)
        message = f"fetch_range() takes a key or a range of two keys, then from_ms and to_ms; got {given!r}."
        raise TypeError(message)

    def backward_fetch_range(
        self, from_key: K | None, to_key: K | None, from_ms: int, to_ms: int
    ) -> Iterator[tuple[Windowed[K], S]]:
        """The windows that `fetch_range` yields for a range of keys, from the last to the first."""
        return self._of_keys(from_key, to_key, from_ms, to_ms, reverse=True)

    def backward_fetch_all(self, from_ms: int, to_ms: int) -> Iterator[tuple[Windowed[K], S]]:
        """The windows of `fetch_all`, from the last to the first."""
        return self._of_keys(None, None, from_ms, to_ms, reverse=True)

    def backward_all(self) -> Iterator[tuple[Windowed[K], S]]:
        """All windows, from the last to the first."""
        return self._of_keys(None, None, 0, MAX_TIME, reverse=True)

    def fetch_all(self, from_ms: int, to_ms: int) -> Iterator[tuple[Windowed[K], S]]:
        """Windows of all keys that start between two times, both inclusive, by serialized key, then start."""
        return self._of_keys(None, None, from_ms, to_ms)

    def all(self) -> Iterator[tuple[Windowed[K], S]]:
        """All windows, by serialized key, then start."""
        return self._of_keys(None, None, 0, MAX_TIME)

    def _by_start(self, entries: Iterator[tuple[bytes, bytes]]) -> Iterator[tuple[int, S]]:
        return ((time_at(entry_key, -TIME_SIZE), self._decode_entry(raw)) for entry_key, raw in entries)

    def _of_keys(
        self, from_key: K | None, to_key: K | None, from_ms: int, to_ms: int, *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], S]]:
        bounds = self._bounds(from_key, to_key)
        if bounds is None:
            return iter(())
        entries = self._entries.of_keys(*bounds, from_ms, to_ms, reverse=reverse)
        return ((self._windowed(entry_key), self._decode_entry(raw)) for entry_key, raw in entries)

    def _windowed(self, entry_key: bytes) -> Windowed[K]:
        start_ms = time_at(entry_key, -TIME_SIZE)
        key = self._read_key(unescape_key(entry_key[:-TIME_SIZE]))
        windows = self._windows
        window = sized_window(start_ms, self.window_size_ms) if windows is None else windows.window_from(start_ms)
        return Windowed(key, window)


class TypedWindowStore(BaseWindowStore[K, V]):
    """Values by key and window start.

    A window expires when the clock has reached its start plus the retention; the clock is at the highest start put so
    far. Reads do not return expired windows, and a put of a window that would expire at once is ignored.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.retention_clocks import StoreClock
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> contents = MemoryStore()
        >>> clock = StoreClock(contents, retention_ms=20)
        >>> store = TypedWindowStore(contents, clock, serdes.String(), serdes.Long(), window_size_ms=10, name="visits")
        >>> store.put("bern", 3, 0), store.put("bern", 4, 10), store.put("basel", 1, 10)
        (None, None, None)
        >>> store.fetch("bern", 10), list(store.fetch("bern", 0, 10))
        (4, [(0, 3), (10, 4)])
        >>> store.put("basel", 2, 20)
        >>> [(str(windowed), value) for windowed, value in store.all()]
        [('[basel@10/20]', 1), ('[basel@20/30]', 2), ('[bern@10/20]', 4)]
    """

    def put(self, key: K, value: V | None, start_ms: int) -> None:
        """Stores the value of a window; `None` removes it, or is ignored if duplicates are retained."""
        self._entries.put(self.key_bytes(key), start_ms, b"", self._value_to_bytes(value))

    def fetch_duplicates(self, key: bytes, from_ms: int, to_ms: int) -> list[tuple[int, V]]:
        """`fetch` of a store that retains duplicates, for an operator that has already serialized the key."""
        entries, read = self.duplicates, self._read_value
        assert entries is not None
        return [(start_ms, read(raw)) for start_ms, raw in entries.within(key, from_ms, to_ms)]


class TypedTimestampedWindowStore(BaseWindowStore[K, ValueAndTimestamp[V]], Generic[K, V]):
    """Values by key and window start, each with a timestamp in epoch milliseconds.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.retention_clocks import StoreClock
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> contents = MemoryStore()
        >>> clock = StoreClock(contents, retention_ms=20)
        >>> store = TypedTimestampedWindowStore(contents, clock, serdes.String(), serdes.Long(), window_size_ms=10)
        >>> store.put("bern", 3, 0, 7)
        >>> store.fetch("bern", 0)
        ValueAndTimestamp(value=3, timestamp_ms=7)
    """

    @property
    def entries(self) -> TimedEntries:
        """The serialized entries, for operators that process many at once."""
        return cast("TimedEntries", self._entries)

    @property
    def caller_expires(self) -> bool:
        """Whether the caller, not the store, decides what expires, and calls `expire`."""
        return isinstance(self.clock, CallerClock)

    def expire(self, spans: Iterable[tuple[bytes, int, int]], step_ms: int) -> None:
        """Removes windows. Each of `spans` is a serialized key, and the first and last start, both inclusive.

        All windows in the store must start at multiples of `step_ms`.
        """
        assert isinstance(self._entries, EntriesByKey)
        self._entries.remove_spans(spans, step_ms)

    def put(self, key: K, value: V | None, start_ms: int, timestamp_ms: int) -> None:
        """Stores the value of a window with its timestamp.

        A value of `None` removes the window, or is ignored if duplicates are retained.
        """
        raw = self.value_serde.serialize(value)
        stored = None if raw is None else with_timestamp(raw, timestamp_ms)
        self._entries.put(self.key_bytes(key), start_ms, b"", stored)

    def _decode_entry(self, raw: bytes) -> ValueAndTimestamp[V]:
        return ValueAndTimestamp(self._read_value(raw[TIMESTAMP_SIZE:]), timestamp_of(raw))


class TypedWindowStoreWithHeaders(BaseWindowStore[K, ValueTimestampHeaders[V]], Generic[K, V]):
    """Values by key and window start, each with a timestamp in epoch milliseconds and headers.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.retention_clocks import StoreClock
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> contents = MemoryStore()
        >>> clock = StoreClock(contents, retention_ms=20)
        >>> store = TypedWindowStoreWithHeaders(contents, clock, serdes.String(), serdes.Long(), window_size_ms=10)
        >>> store.put("bern", 3, 0, 7, (("trace", b"t1"),))
        >>> store.fetch("bern", 0)
        ValueTimestampHeaders(value=3, timestamp_ms=7, headers=(('trace', b't1'),))
    """

    def put(self, key: K, value: V | None, start_ms: int, timestamp_ms: int, headers: Headers = ()) -> None:
        """Stores the value of a window with its timestamp and headers.

        A value of `None` removes the window, or is ignored if duplicates are retained.
        """
        raw = self.value_serde.serialize(value)
        stored = None if raw is None else with_timestamp(encode_headers(headers) + raw, timestamp_ms)
        self._entries.put(self.key_bytes(key), start_ms, b"", stored)

    def _decode_entry(self, raw: bytes) -> ValueTimestampHeaders[V]:
        headers, start = decode_headers(raw, TIMESTAMP_SIZE)
        return ValueTimestampHeaders(self._read_value(raw[start:]), timestamp_of(raw), headers)
