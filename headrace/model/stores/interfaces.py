"""The interfaces of state stores: what processors get from `context.state_store()`, and queries from `app.store()`.

Annotate with them: `counts: KeyValueStore[str, int] = context.state_store("counts")`. Called with the spec
that `Stores` returned instead of the name, both return a typed store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, Self, TypeVar

from headrace.model.record import Headers

if TYPE_CHECKING:
    from headrace.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
P = TypeVar("P")
V_co = TypeVar("V_co", covariant=True)


class ValueAndTimestamp(NamedTuple, Generic[V_co]):
    """A value and the timestamp that was stored with it: event time, in epoch milliseconds."""

    value: V_co
    timestamp_ms: int


class ValueTimestampHeaders(NamedTuple, Generic[V_co]):
    """A value, the timestamp that was stored with it, in epoch milliseconds, and headers."""

    value: V_co
    timestamp_ms: int
    headers: Headers = ()


class AggregationWithHeaders(NamedTuple, Generic[V_co]):
    """The value of a session, and headers."""

    aggregation: V_co
    headers: Headers = ()


class _Version(NamedTuple, Generic[V_co]):
    value: V_co
    timestamp_ms: int


class VersionedRecord(_Version[V_co]):
    """A version: a pair of a value and the time, in epoch milliseconds, from which it is valid.

    The attribute `valid_to_ms` is the time from which it is no longer valid, the timestamp of the next version; it is
    `None` for the latest version. It is no part of the pair, and comparisons ignore it.

    Example:
        >>> version = VersionedRecord("Biel", 20, valid_to_ms=30)
        >>> value, timestamp_ms = version
        >>> version, version.valid_to_ms, version == ("Biel", 20)
        (VersionedRecord(value='Biel', timestamp_ms=20, valid_to_ms=30), 30, True)
    """

    valid_to_ms: int | None

    def __new__(cls, value: V_co, timestamp_ms: int, valid_to_ms: int | None = None) -> Self:
        record = tuple.__new__(cls, (value, timestamp_ms))
        record.valid_to_ms = valid_to_ms
        return record

    def __repr__(self) -> str:
        until = "" if self.valid_to_ms is None else f", valid_to_ms={self.valid_to_ms}"
        return f"VersionedRecord(value={self.value!r}, timestamp_ms={self.timestamp_ms}{until})"


class ReadOnlyKeyValueStore(Protocol[K, V_co]):
    """Reads of values by key: what a query sees of `Stores.key_value`."""

    def get(self, key: K) -> V_co | None:
        """Returns the value of a key, or `None`."""

    def range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[K, V_co]]:
        """Iterates over the entries between two keys, both inclusive, by serialized key; `None` is an open end."""

    def reverse_range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[K, V_co]]:
        """Iterates over the entries of `range(from_key, to_key)`, from the last to the first."""

    def prefix_scan(self, prefix: P, prefix_serde: Serde[P] | None = None) -> Iterator[tuple[K, V_co]]:
        """Iterates over the entries whose serialized key starts with the serialized prefix.

        The prefix need not be a key; `prefix_serde` serializes it, by default the serde of the keys.
        """

    def all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over all entries, by serialized key."""

    def reverse_all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over all entries, from the last to the first."""

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
        ...     view.get("bern"), view.get_with_timestamp("bern"), list(view.with_timestamps().all())
        (1, ValueAndTimestamp(value=1, timestamp_ms=12), [('bern', ValueAndTimestamp(value=1, timestamp_ms=12))])
    """

    def get_with_timestamp(self, key: K) -> ValueAndTimestamp[V_co] | None:
        """Returns the value of a key with its timestamp, or `None`."""

    def with_timestamps(self) -> ReadOnlyKeyValueStore[K, ValueAndTimestamp[V_co]]:
        """Returns a view of the same entries whose reads all return values with their timestamps."""


class TimestampedKeyValueStore(ReadOnlyKeyValueStore[K, ValueAndTimestamp[V]], Protocol[K, V]):
    """Values with their timestamps by key: what a processor sees of `Stores.timestamped_key_value`.

    Reads return `ValueAndTimestamp`, a pair, where a query sees plain values; `get_with_timestamp` returns the same to
    both. The rows of a global table can only be read.
    """

    def get_with_timestamp(self, key: K) -> ValueAndTimestamp[V] | None:
        """Returns the value of a key with its timestamp, or `None`."""

    def put(self, key: K, value: V | None, timestamp_ms: int) -> None:
        """Stores a value with its timestamp; a value of `None` removes the key."""

    def put_if_absent(self, key: K, value: V | None, timestamp_ms: int) -> ValueAndTimestamp[V] | None:
        """Stores a value unless the key has one; returns the pair that the key had, or `None`."""

    def put_all(self, entries: Iterable[tuple[K, tuple[V | None, int] | None]]) -> None:
        """Puts every entry, in order: a key with its value and timestamp, as `all()` yields them, or with `None`."""

    def delete(self, key: K) -> ValueAndTimestamp[V] | None:
        """Removes a key; returns the pair that it had, or `None`."""


class ReadOnlyTimestampedKeyValueStoreWithHeaders(ReadOnlyTimestampedKeyValueStore[K, V_co], Protocol[K, V_co]):
    """Reads of values by key, of their timestamps and headers: what a query sees of a store with headers."""

    def with_headers(self) -> ReadOnlyKeyValueStore[K, ValueTimestampHeaders[V_co]]:
        """Returns a view of the same entries whose reads all return values with their timestamps and headers."""


class TimestampedKeyValueStoreWithHeaders(ReadOnlyKeyValueStore[K, ValueTimestampHeaders[V]], Protocol[K, V]):
    """Values with their timestamps and headers by key: `Stores.timestamped_key_value_with_headers` for a processor.

    Example:
        >>> import headrace as hr
        >>> from headrace import serdes
        >>> from headrace.testing import run_stream
        >>> last = hr.Stores.timestamped_key_value_with_headers("last", value_serde=serdes.Long())
        >>> class Previous(hr.Processor[str, int, str, int]):
        ...     def process(self, record: hr.Record[str, int]) -> None:
        ...         store = self.context.state_store(last)
        ...         before = store.get(record.key)
        ...         store.put(record.key, record.value, record.timestamp_ms, record.headers)
        ...         if before is not None:
        ...             self.context.forward(hr.Record(record.key, *before))
        >>> run_stream(
        ...     lambda stream: stream.process(Previous, stores=[last]),
        ...     ("a", 1, 10, (("trace", b"t1"),)),
        ...     ("a", 2, 11),
        ... )
        [Record(key='a', value=1, timestamp_ms=10, headers=(('trace', b't1'),))]
    """

    def put(self, key: K, value: V | None, timestamp_ms: int, headers: Headers = ()) -> None:
        """Stores a value with its timestamp and headers; a value of `None` removes the key."""

    def put_if_absent(
        self, key: K, value: V | None, timestamp_ms: int, headers: Headers = ()
    ) -> ValueTimestampHeaders[V] | None:
        """Stores a value unless the key has one; returns what the key had, or `None`."""

    def put_all(self, entries: Iterable[tuple[K, tuple[V | None, int, Headers] | None]]) -> None:
        """Puts every entry, in order: a key with what `all()` yields for it, or with `None`."""

    def delete(self, key: K) -> ValueTimestampHeaders[V] | None:
        """Removes a key; returns what it had, or `None`."""


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
        ...     print(view.get("pen"), view.get_as_of("pen", 20))
        ...     list(view.versions("pen"))  # doctest: +NORMALIZE_WHITESPACE
        3 2
        [VersionedRecord(value=2, timestamp_ms=10, valid_to_ms=30),
         VersionedRecord(value=3, timestamp_ms=30)]
    """

    def get(self, key: K) -> V_co | None:
        """Returns the latest value of a key, or `None`."""

    def get_as_of(self, key: K, as_of_ms: int) -> V_co | None:
        """Returns the value that was valid at a time, or `None`."""

    def get_with_timestamp(self, key: K) -> VersionedRecord[V_co] | None:
        """Returns the latest value of a key with the time from which it is valid, or `None`."""

    def all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over the latest values of all keys, by serialized key."""

    def reverse_all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over the latest values of all keys, from the last to the first."""

    def versions(
        self, key: K, from_ms: int | None = None, to_ms: int | None = None, *, descending: bool = False
    ) -> Iterator[VersionedRecord[V_co]]:
        """Iterates over the versions of a key that were valid at some time between two times, both inclusive.

        `None` is an open end. The order is by timestamp, ascending by default. Deletions are left out: they show as
        a version whose `valid_to_ms` is earlier than the next one's `timestamp_ms`. A version that was replaced before
        the history began is not shown.
        """


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

    def versions(
        self, key: K, from_ms: int | None = None, to_ms: int | None = None, *, descending: bool = False
    ) -> Iterator[VersionedRecord[V]]:
        """Iterates over the versions of a key that were valid at some time between two times, both inclusive.

        `None` is an open end. The order is by timestamp, ascending by default. The versions are those in the store at
        the time of the call, without deletions.
        """

    def delete(self, key: K, timestamp_ms: int) -> VersionedRecord[V] | None:
        """Stores a deletion. Returns the version that was valid at that time.

        Returns `None` if there was none, or if the deletion is older than the history and was not stored.
        """

    def all(self) -> Iterator[tuple[K, VersionedRecord[V]]]:
        """Iterates over the latest versions of all keys, by serialized key, except deletions."""

    def reverse_all(self) -> Iterator[tuple[K, VersionedRecord[V]]]:
        """Iterates over the latest versions of all keys, from the last to the first, except deletions."""
