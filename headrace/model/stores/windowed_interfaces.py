"""The interfaces of window and session stores; `interfaces` has those of the other stores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar, overload

from headrace.model.record import Headers
from headrace.model.stores.interfaces import AggregationWithHeaders, ValueAndTimestamp, ValueTimestampHeaders
from headrace.model.time.windows import Windowed

K = TypeVar("K")
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class ReadOnlyWindowStore(Protocol[K, V_co]):
    """Reads values by key and window: what queries get for `Stores.window` and for windowed aggregations.

    Queries are `app.store()` and `driver.store()`.

    Example:
        >>> from datetime import timedelta
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> from headrace.testing import TopologyTestDriver
        >>> size = timedelta(milliseconds=10)
        >>> counts = hr.Stores.window("counts", retention=5 * size, window_size=size, value_serde=serdes.Long())
        >>> builder = hr.StreamsBuilder()
        >>> table = builder.stream("in").group_by_key().windowed_by(hr.TimeWindows.of(size)).count(store=counts)
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     for timestamp_ms in (3, 7, 12):
        ...         driver.input_topic("in").pipe("bern", "x", timestamp_ms)
        ...     view = driver.store(counts)  # a ReadOnlyWindowStore[str, int]
        ...     view.fetch("bern", 0), list(view.fetch("bern", 0, 10))
        (2, [(0, 2), (10, 1)])
    """

    @overload
    def fetch(self, key: K, start_ms: int, /) -> V_co | None: ...

    @overload
    def fetch(self, key: K, from_ms: int, to_ms: int) -> Iterator[tuple[int, V_co]]: ...

    def fetch(self, key: K, from_ms: int, to_ms: int | None = None) -> V_co | Iterator[tuple[int, V_co]] | None:
        """Returns the value of one window, or iterates over the windows of a key.

        `fetch(key, start_ms)` returns the value of the window that starts at `start_ms`, or `None`.
        `fetch(key, from_ms, to_ms)` iterates over the windows that start between the two times, both included, as pairs
        `(start_ms, value)` in the order of their start.
        """

    def backward_fetch(self, key: K, from_ms: int, to_ms: int) -> Iterator[tuple[int, V_co]]:
        """Iterates over the windows of `fetch(key, from_ms, to_ms)` in reverse order."""

    @overload
    def fetch_range(self, key: K, /, from_ms: int, to_ms: int) -> Iterator[tuple[int, V_co]]: ...

    @overload
    def fetch_range(
        self, from_key: K | None, to_key: K | None, /, from_ms: int, to_ms: int
    ) -> Iterator[tuple[Windowed[K], V_co]]: ...

    def fetch_range(self, *keys_and_times: Any, **times: int) -> Iterator[tuple[Any, V_co]]:
        """Iterates over the windows of one key, or of a range of keys, that start between two times.

        `fetch_range(key, from_ms, to_ms)` yields pairs `(start_ms, value)` for one key, in the order of the start.
        `fetch_range(from_key, to_key, from_ms, to_ms)` yields pairs of a `Windowed` key and a value, in the order of
        serialized key, then start. All bounds are included; `None` for a key means no bound.
        """

    def backward_fetch_range(
        self, from_key: K | None, to_key: K | None, from_ms: int, to_ms: int
    ) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the windows of `fetch_range(from_key, to_key, from_ms, to_ms)` in reverse order."""

    def fetch_all(self, from_ms: int, to_ms: int) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the windows of all keys that start between two times, both included.

        The order is by serialized key, then start.
        """

    def backward_fetch_all(self, from_ms: int, to_ms: int) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the windows of `fetch_all(from_ms, to_ms)` in reverse order."""

    def all(self) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over all windows, in the order of serialized key, then start."""

    def backward_all(self) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over all windows, in the reverse order of `all`."""


class ReadOnlyTimestampedWindowStore(ReadOnlyWindowStore[K, V_co], Protocol[K, V_co]):
    """Reads values by key and window: what queries get for a windowed aggregation and `Stores.timestamped_window`.

    Reads return the values alone; `with_timestamps` returns a view with their timestamps.
    """

    def with_timestamps(self) -> ReadOnlyWindowStore[K, ValueAndTimestamp[V_co]]:
        """Returns a view of the same windows in which all reads return values with their timestamps."""


class ReadOnlyTimestampedWindowStoreWithHeaders(ReadOnlyTimestampedWindowStore[K, V_co], Protocol[K, V_co]):
    """Reads values by key and window: what queries get for `Stores.timestamped_window_with_headers`."""

    def with_headers(self) -> ReadOnlyWindowStore[K, ValueTimestampHeaders[V_co]]:
        """Returns a view of the same windows in which all reads return values with timestamps and headers."""


class WindowStore(ReadOnlyWindowStore[K, V], Protocol[K, V]):
    """Stores values by key and window start: what processors get for `Stores.window`."""

    def put(self, key: K, value: V | None, start_ms: int) -> None:
        """Stores the value of a window. `None` removes the window; with `retain_duplicates` it is ignored."""


class TimestampedWindowStore(ReadOnlyWindowStore[K, ValueAndTimestamp[V]], Protocol[K, V]):
    """Stores values with timestamps by key and window start: what processors get for `Stores.timestamped_window`.

    Reads return pairs, `ValueAndTimestamp`.
    """

    def put(self, key: K, value: V | None, start_ms: int, timestamp_ms: int) -> None:
        """Stores the value of a window with its timestamp.

        A value of `None` removes the window; with `retain_duplicates` it is ignored.
        """


class TimestampedWindowStoreWithHeaders(ReadOnlyWindowStore[K, ValueTimestampHeaders[V]], Protocol[K, V]):
    """Stores values with timestamps and headers by key and window start, for a processor.

    It is what processors get for `Stores.timestamped_window_with_headers`. Reads return `ValueTimestampHeaders`.
    """

    def put(self, key: K, value: V | None, start_ms: int, timestamp_ms: int, headers: Headers = ()) -> None:
        """Stores the value of a window with its timestamp and headers.

        A value of `None` removes the window; with `retain_duplicates` it is ignored.
        """


class ReadOnlySessionStore(Protocol[K, V_co]):
    """Reads values by key and session: what queries get for `Stores.session` and for aggregations of sessions.

    Queries are `app.store()` and `driver.store()`.

    Example:
        >>> from datetime import timedelta
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> from headrace.testing import TopologyTestDriver
        >>> gap = timedelta(milliseconds=5)
        >>> visits = hr.Stores.session("visits", retention=9 * gap, value_serde=serdes.Long())
        >>> builder = hr.StreamsBuilder()
        >>> table = builder.stream("in").group_by_key().windowed_by(hr.SessionWindows.of(gap)).count(store=visits)
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     for timestamp_ms in (0, 4, 20):
        ...         driver.input_topic("in").pipe("ann", "x", timestamp_ms)
        ...     view = driver.store(visits)  # a ReadOnlySessionStore[str, int]
        ...     [(str(session), count) for session, count in view.fetch("ann")]
        [('[ann@0/4]', 2), ('[ann@20/20]', 1)]
    """

    def fetch(self, key: K) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of a key, in the order of their end, then their start."""

    def backward_fetch(self, key: K) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of `fetch(key)` in reverse order."""

    def fetch_range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of the keys from one key to another, both included; `None` means no bound.

        The order is by serialized key, then end, then start.
        """

    def backward_fetch_range(
        self, from_key: K | None = None, to_key: K | None = None
    ) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of `fetch_range(from_key, to_key)` in reverse order."""

    def fetch_session(self, key: K, start_ms: int, end_ms: int) -> V_co | None:
        """Returns the value of the session with exactly this start and end, or `None`."""

    def find_sessions(self, key: K, earliest_end_ms: int, latest_start_ms: int) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of a key that end no earlier than one time and start no later than another.

        Both times are included. The order is by end, then start.
        """

    def backward_find_sessions(
        self, key: K, earliest_end_ms: int, latest_start_ms: int
    ) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of `find_sessions` in reverse order."""

    def find_sessions_range(
        self, from_key: K | None, to_key: K | None, earliest_end_ms: int, latest_start_ms: int
    ) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of `find_sessions`, for all keys from one key to another, both included.

        `None` for a key means no bound. The order is by serialized key, then end, then start.
        """

    def backward_find_sessions_range(
        self, from_key: K | None, to_key: K | None, earliest_end_ms: int, latest_start_ms: int
    ) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of `find_sessions_range` in reverse order."""

    def find_sessions_by_end(self, earliest_end_ms: int, latest_end_ms: int) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of all keys that end between two times, both included.

        The order is by serialized key, then end, then start.
        """

    def all(self) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over all sessions, in the order of serialized key, then end, then start."""

    def backward_all(self) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over all sessions, in the reverse order of `all`."""


class ReadOnlySessionStoreWithHeaders(ReadOnlySessionStore[K, V_co], Protocol[K, V_co]):
    """Reads values by key and session: what queries get for `Stores.session_with_headers`."""

    def with_headers(self) -> ReadOnlySessionStore[K, AggregationWithHeaders[V_co]]:
        """Returns a view of the same sessions in which all reads return values with their headers."""


class SessionStore(ReadOnlySessionStore[K, V], Protocol[K, V]):
    """Stores values by key and session: what processors get for `Stores.session`."""

    def put(self, windowed: Windowed[K], value: V | None) -> None:
        """Stores the value of a session; `None` removes it."""

    def remove(self, windowed: Windowed[K]) -> None:
        """Removes a session."""


class SessionStoreWithHeaders(ReadOnlySessionStore[K, AggregationWithHeaders[V]], Protocol[K, V]):
    """Stores values with headers by key and session: what processors get for `Stores.session_with_headers`.

    Reads return `AggregationWithHeaders`.
    """

    def put(self, windowed: Windowed[K], value: V | None, headers: Headers = ()) -> None:
        """Stores the value of a session with headers; a value of `None` removes it."""

    def remove(self, windowed: Windowed[K]) -> None:
        """Removes a session."""
