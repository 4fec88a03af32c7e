"""The interfaces of state stores: what processors get from `context.state_store()`, and queries from `app.store()`.

Both methods return a typed store if they are called with the spec that `Stores` returned. With the name of a store they
return `Any`, so annotate the result: `counts: KeyValueStore[str, int] = context.state_store("counts")`.
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
    """A value, and the timestamp (event time in epoch milliseconds) and headers that were stored with it."""

    value: V_co
    timestamp_ms: int
    headers: Headers = ()


class AggregationWithHeaders(NamedTuple, Generic[V_co]):
    """The value of a session, and the headers that were stored with it."""

    aggregation: V_co
    headers: Headers = ()


class _Version(NamedTuple, Generic[V_co]):
    value: V_co
    timestamp_ms: int


class VersionedRecord(_Version[V_co]):
    """One version of a value: a pair of the value and the time, in epoch milliseconds, from which it is valid.

    The attribute `valid_to_ms` is the time from which the version is no longer valid: the timestamp of the next version
    of the key, or `None` for the latest version. The attribute is not part of the pair, and comparisons ignore it.

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
    """Reads values by key: what queries get for `Stores.key_value`.

    Queries are `app.store()` and `driver.store()`. They read the stores of all tasks as one.
    """

    def get(self, key: K) -> V_co | None:
        """Returns the value of a key, or `None` if there is none."""

    def range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[K, V_co]]:
        """Iterates over the entries from one key to another, both included, in the order of the serialized keys.

        `None` for a bound means no bound.
        """

    def reverse_range(self, from_key: K | None = None, to_key: K | None = None) -> Iterator[tuple[K, V_co]]:
        """Iterates over the entries of `range(from_key, to_key)` in reverse order."""

    def prefix_scan(self, prefix: P, prefix_serde: Serde[P] | None = None) -> Iterator[tuple[K, V_co]]:
        """Iterates over the entries whose serialized key starts with the serialized prefix.

        They come in the order of the serialized keys.

        Args:
            prefix: the prefix; it need not be a key.
            prefix_serde: serializes the prefix; default: the serde of the keys.
        """

    def all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over all entries, in the order of the serialized keys."""

    def reverse_all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over all entries, in the reverse order of the serialized keys."""

    def approximate_num_entries(self) -> int:
        """Returns the approximate number of entries."""


class KeyValueStore(ReadOnlyKeyValueStore[K, V], Protocol[K, V]):
    """Stores values by key: what processors get for `Stores.key_value`.

    A read returns a copy of the value: changing it in place does not change the store.

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
        """Stores a value unless the key already has one; returns the value that the key had, or `None`."""

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """Puts pairs of a key and a value, in order."""

    def delete(self, key: K) -> V | None:
        """Removes a key; returns the value that it had, or `None`."""


class ReadOnlyTimestampedKeyValueStore(ReadOnlyKeyValueStore[K, V_co], Protocol[K, V_co]):
    """Reads values and their timestamps by key: what queries get for a table or an aggregation without windows.

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
        """Returns the value of a key with its timestamp, or `None` if there is none."""

    def with_timestamps(self) -> ReadOnlyKeyValueStore[K, ValueAndTimestamp[V_co]]:
        """Returns a view of the same entries in which all reads return values with their timestamps."""


class TimestampedKeyValueStore(ReadOnlyKeyValueStore[K, ValueAndTimestamp[V]], Protocol[K, V]):
    """Stores values with their timestamps by key: what processors get for `Stores.timestamped_key_value`.

    All reads return pairs, `ValueAndTimestamp`. In contrast, queries get a `ReadOnlyTimestampedKeyValueStore`, whose
    reads return the values alone. The rows of a global table can only be read.
    """

    def get_with_timestamp(self, key: K) -> ValueAndTimestamp[V] | None:
        """Returns the value of a key with its timestamp, or `None` if there is none."""

    def put(self, key: K, value: V | None, timestamp_ms: int) -> None:
        """Stores a value with its timestamp; a value of `None` removes the key."""

    def put_if_absent(self, key: K, value: V | None, timestamp_ms: int) -> ValueAndTimestamp[V] | None:
        """Stores a value unless the key already has one; returns the pair that the key had, or `None`."""

    def put_all(self, entries: Iterable[tuple[K, tuple[V | None, int] | None]]) -> None:
        """Puts entries `(key, (value, timestamp_ms))`, as `all()` yields them, in order.

        `(key, None)` removes the key.
        """

    def delete(self, key: K) -> ValueAndTimestamp[V] | None:
        """Removes a key; returns the pair that it had, or `None`."""


class ReadOnlyTimestampedKeyValueStoreWithHeaders(ReadOnlyTimestampedKeyValueStore[K, V_co], Protocol[K, V_co]):
    """Reads values by key: what queries get for `Stores.timestamped_key_value_with_headers`.

    Reads return the values alone; `with_timestamps` and `with_headers` return views with more.
    """

    def with_headers(self) -> ReadOnlyKeyValueStore[K, ValueTimestampHeaders[V_co]]:
        """Returns a view of the same entries in which all reads return values with timestamps and headers."""


class TimestampedKeyValueStoreWithHeaders(ReadOnlyKeyValueStore[K, ValueTimestampHeaders[V]], Protocol[K, V]):
    """Stores values with timestamps and headers by key, for a processor.

    It is what processors get for `Stores.timestamped_key_value_with_headers`. Reads return `ValueTimestampHeaders`.

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
        """Stores a value unless the key already has one; returns the entry that the key had, or `None`."""

    def put_all(self, entries: Iterable[tuple[K, tuple[V | None, int, Headers] | None]]) -> None:
        """Puts entries `(key, (value, timestamp_ms, headers))`, as `all()` yields them, in order.

        `(key, None)` removes the key.
        """

    def delete(self, key: K) -> ValueTimestampHeaders[V] | None:
        """Removes a key; returns the entry that it had, or `None`."""


class ReadOnlyVersionedKeyValueStore(Protocol[K, V_co]):
    """Reads values by key and time: what queries get for `Stores.versioned_key_value`.

    Reads of the latest version and of an earlier one return the value alone, or `None` for a deletion.

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
        """Returns the latest value of a key, or `None` if there is none or it was deleted."""

    def get_as_of(self, key: K, as_of_ms: int) -> V_co | None:
        """Returns the value valid at a time, or `None`. Before the history, only latest versions are found."""

    def get_with_timestamp(self, key: K) -> VersionedRecord[V_co] | None:
        """Returns the latest version of a key, or `None` if there is none or it was deleted."""

    def all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over the latest values of all keys, in the order of the serialized keys, without deleted ones."""

    def reverse_all(self) -> Iterator[tuple[K, V_co]]:
        """Iterates over the latest values of all keys, in the reverse order of `all`."""

    def versions(
        self, key: K, from_ms: int | None = None, to_ms: int | None = None, *, descending: bool = False
    ) -> Iterator[VersionedRecord[V_co]]:
        """Iterates over the versions of a key that were valid at some time from `from_ms` to `to_ms`.

        Versions come in the order of their timestamps. Deletions are left out: if there was one between two versions,
        the `valid_to_ms` of the first is earlier than the `timestamp_ms` of the second. A version that was replaced
        before the history began is not returned.

        Args:
            key: the key.
            from_ms: the earliest time, included; `None` means no bound.
            to_ms: the latest time, included; `None` means no bound.
            descending: whether the latest version comes first.
        """


class VersionedKeyValueStore(Protocol[K, V]):
    """Stores versions of the value of each key: what processors get for `Stores.versioned_key_value`.

    A version is valid from its timestamp until that of the next version of its key.
    """

    def put(self, key: K, value: V | None, timestamp_ms: int) -> int:
        """Stores a version; it replaces one with the same timestamp. `None` marks the key as deleted from that time on.

        Returns:
            The time until which the version is valid: the timestamp of the next version of the key, or -1 if this is
            the latest. If the version is older than the history, it is not stored, and the result is `-2**63`.
        """

    def get(self, key: K) -> VersionedRecord[V] | None:
        """Returns the latest version of a key, or `None` if there is none or it is a deletion."""

    def get_as_of(self, key: K, as_of_ms: int) -> VersionedRecord[V] | None:
        """Returns the version valid at a time, or `None`. Before the history, only latest versions are found."""

    def versions(
        self, key: K, from_ms: int | None = None, to_ms: int | None = None, *, descending: bool = False
    ) -> Iterator[VersionedRecord[V]]:
        """Iterates over the versions of a key that were valid at some time from `from_ms` to `to_ms`, both included.

        `None` for a time means no bound. Versions come in the order of their timestamps; with `descending`, the latest
        comes first. Deletions are left out. Changes of the store during the iteration have no effect on it.
        """

    def delete(self, key: K, timestamp_ms: int) -> VersionedRecord[V] | None:
        """Marks the key as deleted from a time on; returns the version that was valid at that time.

        Returns `None` if there was none, or if the time is before the history, so that nothing was stored.
        """

    def all(self) -> Iterator[tuple[K, VersionedRecord[V]]]:
        """Iterates over the latest versions of all keys, in the order of the serialized keys, without deleted ones."""

    def reverse_all(self) -> Iterator[tuple[K, VersionedRecord[V]]]:
        """Iterates over the latest versions of all keys, in the reverse order of `all`."""
