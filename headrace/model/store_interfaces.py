"""The interfaces of state stores: what processors get from `context.state_store()`, and queries from `app.store()`.

Annotate with them: `counts: KeyValueStore[str, int] = context.state_store("counts")`. Called with the spec
that `Stores` returned instead of the name, both return a typed store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

from headrace.model.windows import Windowed
from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
P = TypeVar("P")
V_co = TypeVar("V_co", covariant=True)


class ValueAndTimestamp(NamedTuple, Generic[V_co]):
    """A value and the time, in epoch milliseconds, at which it was stored."""

    value: V_co
    timestamp_ms: int


class VersionedRecord(NamedTuple, Generic[V_co]):
    """A version: a value and the time, in epoch milliseconds, from which it is valid."""

    value: V_co
    timestamp_ms: int


class ReadOnlyKeyValueStore(Protocol[K, V_co]):
    """Reads of values by key: what a query sees of `Stores.key_value`."""

    def get(self, key: K) -> V_co | None:
        """Returns the value of a key, or `None`."""

    def range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[K, V_co]]:
        """Iterates over the entries between two keys, both inclusive, by serialized key; `None` is an open end."""

    def prefix_scan(self, prefix: P, prefix_serde: Serde[P] | None = None) -> Iterator[tuple[K, V_co]]:
        """Iterates over the entries whose serialized key starts with the serialized prefix.

        The prefix need not be a key; `prefix_serde` serializes it, by default the serde of the keys.
        """

    def all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over all entries, by serialized key."""

    def approximate_num_entries(self) -> int:
        """Returns about how many entries there are."""


class KeyValueStore(ReadOnlyKeyValueStore[K, V], Protocol[K, V]):
    """Values by key: what a processor sees of `Stores.key_value`. Reads return copies.

    Example:
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> from headrace.testing import run_stream
        >>> totals = hr.Stores.key_value("totals", value_serde=serdes.Long())
        >>> class Total(hr.Processor[str, int, str, int]):
        ...     def process(self, record: hr.Record[str, int]) -> None:
        ...         store = self.context.state_store(totals)  # a KeyValueStore[str, int]
        ...         total = (store.get(record.key) or 0) + record.value
        ...         store.put(record.key, total)
        ...         self.context.forward(record.with_value(total))
        >>> run_stream(lambda stream: stream.process(Total, stores=[totals]), ("a", 1, 10), ("a", 2, 11))
        [Record(key='a', value=1, timestamp_ms=10), Record(key='a', value=3, timestamp_ms=11)]
    """

    def put(self, key: K, value: V | None) -> None:
        """Stores a value; `None` removes the key."""

    def put_if_absent(self, key: K, value: V | None) -> V | None:
        """Stores a value unless the key has one; returns the value that the key had, or `None`."""

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """Puts every entry, in order."""

    def delete(self, key: K) -> V | None:
        """Removes a key; returns the value that it had, or `None`."""


class ReadOnlyTimestampedKeyValueStore(ReadOnlyKeyValueStore[K, V_co], Protocol[K, V_co]):
    """Reads of values by key, and of their timestamps: what a query sees of a table or of an aggregation.

    Example:
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> from headrace.testing import TopologyTestDriver
        >>> counts = hr.Stores.timestamped_key_value("counts", value_serde=serdes.Long())
        >>> builder = hr.StreamsBuilder()
        >>> table = builder.stream("in").group_by_key().count(store=counts.name)
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("in").pipe("bern", "x", timestamp_ms=12)
        ...     view = driver.store(counts)  # a ReadOnlyTimestampedKeyValueStore[str, int]
        ...     view.get("bern"), view.get_with_timestamp("bern")
        (1, ValueAndTimestamp(value=1, timestamp_ms=12))
    """

    def get_with_timestamp(self, key: K) -> ValueAndTimestamp[V_co] | None:
        """Returns the value of a key with its timestamp, or `None`."""


class TimestampedKeyValueStore(ReadOnlyKeyValueStore[K, tuple[V, int]], Protocol[K, V]):
    """Values with their timestamps by key: what a processor sees of `Stores.timestamped_key_value`.

    Reads return pairs `(value, timestamp_ms)`, where a query sees plain values; `get_with_timestamp` returns the same
    to both. The rows of a global table can only be read.
    """

    def get_with_timestamp(self, key: K) -> ValueAndTimestamp[V] | None:
        """Returns the value of a key with its timestamp, or `None`."""

    def put(self, key: K, value: V | None, timestamp_ms: int) -> None:
        """Stores a value with its timestamp; a value of `None` removes the key."""

    def put_if_absent(self, key: K, value: V | None, timestamp_ms: int) -> tuple[V, int] | None:
        """Stores a value unless the key has one; returns the pair that the key had, or `None`."""

    def delete(self, key: K) -> tuple[V, int] | None:
        """Removes a key; returns the pair that it had, or `None`."""


class ReadOnlyWindowStore(Protocol[K, V_co]):
    """Reads of values by key and window: what a query sees of `Stores.window` and of windowed aggregations.

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
        """Returns the value of the window of a key that starts at a time, or `None`.

        With two times, iterates over the windows of the key that start between them, both inclusive, as pairs
        `(start_ms, value)` by start.
        """

    @overload
    def fetch_range(self, key: K, /, from_ms: int, to_ms: int) -> Iterator[tuple[int, V_co]]: ...

    @overload
    def fetch_range(
        self, from_key: K | None, to_key: K | None, /, from_ms: int, to_ms: int
    ) -> Iterator[tuple[Windowed[K], V_co]]: ...

    def fetch_range(self, *keys_and_times: Any, **times: int) -> Iterator[tuple[Any, V_co]]:
        """Iterates over the windows of one key, or of a range of keys, that start between two times, all inclusive.

        The windows of one key come with their start; those of several keys come with their `Windowed` key, by
        serialized key, then start. A key of `None` is an open end.
        """

    def fetch_all(self, from_ms: int, to_ms: int) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the windows of all keys that start between two times, by serialized key, then start."""

    def all(self) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over all windows, by serialized key, then start."""


class WindowStore(ReadOnlyWindowStore[K, V], Protocol[K, V]):
    """Values by key and window start: what a processor sees of `Stores.window`."""

    def put(self, key: K, value: V | None, start_ms: int) -> None:
        """Stores the value of a window; `None` removes it, or is ignored if the store retains duplicates."""


class ReadOnlySessionStore(Protocol[K, V_co]):
    """Reads of values by key and session: what a query sees of `Stores.session` and of aggregated sessions.

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
        """Iterates over the sessions of a key, by end, then start."""

    def fetch_range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of the keys between two keys, both inclusive, by serialized key, end, start."""

    def fetch_session(self, key: K, start_ms: int, end_ms: int) -> V_co | None:
        """Returns the value of one session, or `None`."""

    def find_sessions(self, key: K, earliest_end_ms: int, latest_start_ms: int) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over the sessions of a key that end at or after one time and start at or before another.

        The order is by end, then start.
        """

    def all(self) -> Iterator[tuple[Windowed[K], V_co]]:
        """Iterates over all sessions, by serialized key, end, start."""


class SessionStore(ReadOnlySessionStore[K, V], Protocol[K, V]):
    """Values by key and session: what a processor sees of `Stores.session`."""

    def put(self, windowed: Windowed[K], value: V | None) -> None:
        """Stores the value of a session; `None` removes it."""

    def remove(self, windowed: Windowed[K]) -> None:
        """Removes a session."""


class ReadOnlyVersionedKeyValueStore(Protocol[K, V_co]):
    """Reads of values by key and time of validity: what a query sees of `Stores.versioned_key_value`.

    Example:
        >>> from datetime import timedelta
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> from headrace.testing import TopologyTestDriver
        >>> prices = hr.Stores.versioned_key_value("prices", history=timedelta(days=1), value_serde=serdes.Long())
        >>> builder = hr.StreamsBuilder()
        >>> table = builder.table("in", store=prices, value_serde=serdes.Long())
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.input_topic("in").pipe("pen", 2, timestamp_ms=10)
        ...     driver.input_topic("in").pipe("pen", 3, timestamp_ms=30)
        ...     view = driver.store(prices)  # a ReadOnlyVersionedKeyValueStore[str, int]
        ...     view.get("pen"), view.get_as_of("pen", 20), view.get_with_timestamp("pen")
        (3, 2, VersionedRecord(value=3, timestamp_ms=30))
    """

    def get(self, key: K) -> V_co | None:
        """Returns the latest value of a key, or `None`."""

    def get_as_of(self, key: K, as_of_ms: int) -> V_co | None:
        """Returns the value that was valid at a time, or `None`."""

    def get_with_timestamp(self, key: K) -> VersionedRecord[V_co] | None:
        """Returns the latest value of a key with the time from which it is valid, or `None`."""

    def all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over the latest values of all keys, by serialized key."""


class VersionedKeyValueStore(Protocol[K, V]):
    """Values by key and time of validity: what a processor sees of `Stores.versioned_key_value`.

    A version is valid from its timestamp until that of the next version of its key.
    """

    def put(self, key: K, value: V | None, timestamp_ms: int) -> int:
        """Stores a version, in place of one with the same timestamp; `None` is a deletion from that time on.

        Returns:
            Until when the version is valid: the timestamp of the next version of the key, -1 if there is none;
            `-2**63` if the version is older than the history, and was not stored.
        """

    def get(self, key: K) -> VersionedRecord[V] | None:
        """Returns the latest version of a key, or `None` if there is none or it is a deletion."""

    def get_as_of(self, key: K, as_of_ms: int) -> VersionedRecord[V] | None:
        """Returns the version that was valid at a time, or `None`, also if the time is older than the history."""

    def delete(self, key: K, timestamp_ms: int) -> VersionedRecord[V] | None:
        """Stores a deletion. Returns the version that was valid at that time.

        Returns `None` if there was none, or if the deletion is older than the history and was not stored.
        """

    def all(self) -> Iterator[tuple[K, VersionedRecord[V]]]:
        """Iterates over the latest versions of all keys, by serialized key, except deletions."""
