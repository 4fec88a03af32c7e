"""`Stores`: describes the state stores of processors and tables; every task creates its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, overload

from headrace._graph.names import checked_name
from headrace._state.bytes.api import ByteStore
from headrace._state.stores.versioned import NEWEST, NOT_PUT
from headrace._state.views.suppress import WaitingRow
from headrace._suggestions.attributes import SuggestingMeta
from headrace.errors import TopologyError
from headrace.model.arguments import checked_duration
from headrace.model.stores.interfaces import ValueAndTimestamp, VersionedRecord
from headrace.model.stores.specs import (
    CustomSpec,
    KeyValueSpec,
    KeyValueWithHeadersSpec,
    LruSpec,
    SessionSpec,
    SessionWithHeadersSpec,
    TimestampedKeyValueSpec,
    TimestampedWindowSpec,
    VersionedSpec,
    WindowSpec,
    WindowWithHeadersSpec,
)
from headrace.model.type_variables import TypeVar
from headrace.serdes import Serde

__all__ = ["NEWEST", "NOT_PUT", "Stores", "ValueAndTimestamp", "VersionedRecord", "WaitingRow"]

# Without serdes, keys are texts and values are JSON: the defaults of `StreamsConfig`.
K = TypeVar("K", default=str)
V = TypeVar("V", default=Any)
StoreT = TypeVar("StoreT")
ViewT = TypeVar("ViewT")


class Stores(metaclass=SuggestingMeta):
    """Describes state stores, for `process(stores=[...])`, `builder.table(store=...)` and `add_state_store()`.

    The spec that is returned knows the types of keys and values by its serdes. `context.state_store(spec)`,
    `app.store(spec)` and `driver.store(spec)` return a typed store; with only the name they return `Any`.

    Example:
        >>> from headrace import serdes
        >>> Stores.key_value("last-seen", key_serde=serdes.String(), value_serde=serdes.Long()).name
        'last-seen'
    """

    @staticmethod
    def key_value(
        name: str, *, key_serde: Serde[K] | None = None, value_serde: Serde[V] | None = None
    ) -> KeyValueSpec[K, V]:
        """Describes a store of values by key, a `KeyValueStore`.

        Args:
            name: name of the store.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
        """
        return KeyValueSpec(name=checked_name(name, "store"), key_serde=key_serde, value_serde=value_serde)

    @staticmethod
    def timestamped_key_value(
        name: str,
        *,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        cached: bool = True,
    ) -> TimestampedKeyValueSpec[K, V]:
        """Describes a store of values with their timestamps by key, a `TimestampedKeyValueStore`.

        Reads return pairs `(value, timestamp_ms)`. The rows of tables and the results of aggregations are in such
        stores.

        Args:
            name: name of the store.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            cached: whether a table with this store uses the record cache, if the application has one
                (`statestore_cache_max_bytes`). If not, the table forwards every update.
        """
        return TimestampedKeyValueSpec(
            name=checked_name(name, "store"), key_serde=key_serde, value_serde=value_serde, cached=cached
        )

    @staticmethod
    def timestamped_key_value_with_headers(
        name: str, *, key_serde: Serde[K] | None = None, value_serde: Serde[V] | None = None
    ) -> KeyValueWithHeadersSpec[K, V]:
        """Describes a store of values with timestamps and headers by key (KIP-1271).

        It is a `TimestampedKeyValueStoreWithHeaders`. The arguments are those of `key_value`.
        """
        return KeyValueWithHeadersSpec(name=checked_name(name, "store"), key_serde=key_serde, value_serde=value_serde)

    @staticmethod
    def lru_map(
        name: str, *, max_entries: int, key_serde: Serde[K] | None = None, value_serde: Serde[V] | None = None
    ) -> LruSpec[K, V]:
        """Describes a store of a bounded number of values by key, a `KeyValueStore`.

        A put of a new key that exceeds the bound evicts the entry that was not used for the longest time. A `get` of a
        processor is a use, as are `put`, `put_if_absent` and `delete`; scans and queries from outside are none. The
        order of use is part of the state: after a restart, the same entries are evicted as without it.

        Args:
            name: name of the store.
            max_entries: how many entries the store of one task, that is of one partition, may have.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.

        Raises:
            TopologyError: if `max_entries` is not a positive integer.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import run_stream
            >>> recent = Stores.lru_map("recent", max_entries=2)
            >>> class Remember(hr.Processor[str, str, str, str]):
            ...     def process(self, record: hr.Record[str, str]) -> None:
            ...         store = self.context.state_store(recent)
            ...         store.put(record.key, record.value)
            ...         self.context.forward(record.with_value("".join(key for key, _ in store.all())))
            >>> records = [("a", "x", 1), ("b", "x", 2), ("a", "x", 3), ("c", "x", 4)]
            >>> [record.value for record in run_stream(lambda s: s.process(Remember, stores=[recent]), *records)]
            ['a', 'ab', 'ab', 'ac']
        """
        named = checked_name(name, "store")
        if not isinstance(max_entries, int) or isinstance(max_entries, bool) or max_entries < 1:
            message = f"Store {named!r}: max_entries is {max_entries!r}; it must be an integer of 1 or more."
            raise TopologyError(message)
        return LruSpec(name=named, max_entries=max_entries, key_serde=key_serde, value_serde=value_serde)

    @overload
    @staticmethod
    def custom(name: str, factory: Callable[[ByteStore], StoreT]) -> CustomSpec[StoreT, tuple[StoreT, ...]]: ...

    @overload
    @staticmethod
    def custom(
        name: str, factory: Callable[[ByteStore], StoreT], *, view: Callable[[tuple[StoreT, ...]], ViewT]
    ) -> CustomSpec[StoreT, ViewT]: ...

    @staticmethod
    def custom(
        name: str,
        factory: Callable[[ByteStore], StoreT],
        *,
        view: Callable[[tuple[StoreT, ...]], Any] | None = None,
    ) -> CustomSpec[StoreT, Any]:
        """Describes a store of your own class, which keeps its entries in a `ByteStore`.

        What the class writes to the `ByteStore` is kept as reliably as the entries of the built-in stores: it is
        committed with the batch, exactly once, and restored on another machine. The class must keep its state there: on
        Spark every batch creates a new object, so a field is at most a cache of what is stored.

        Args:
            name: name of the store.
            factory: the class, or a function; called with the `ByteStore` of a task, it returns the store that
                `context.state_store()` gives to processors.
            view: combines the stores of all tasks into what `app.store()` and `driver.store()` return, by default
                the tuple of these stores, in the order of the partitions. In them the `ByteStore` refuses writes.

        Raises:
            TopologyError: if `factory` or `view` cannot be called.

        Example:
            >>> import headrace as hr
            >>> from headrace.testing import TopologyTestDriver
            >>> class Seen:
            ...     def __init__(self, entries: hr.ByteStore) -> None:
            ...         self.entries = entries
            ...     def add(self, word: str) -> bool:
            ...         is_new = self.entries.get(word.encode()) is None
            ...         self.entries.put(word.encode(), b"")
            ...         return is_new
            ...     def words(self) -> list[str]:
            ...         return [key.decode() for key, _ in self.entries.range(None, None)]
            >>> seen = Stores.custom("seen", Seen, view=lambda stores: sorted(w for s in stores for w in s.words()))
            >>> class OnlyNew(hr.Processor[str, str, str, str]):
            ...     def process(self, record: hr.Record[str, str]) -> None:
            ...         if self.context.state_store(seen).add(record.value):
            ...             self.context.forward(record)
            >>> builder = hr.StreamsBuilder()
            >>> builder.stream("in").process(OnlyNew, stores=[seen]).to("out")
            >>> with TopologyTestDriver(builder.build()) as driver:
            ...     for word in ("to", "be", "to"):
            ...         driver.input_topic("in").pipe("k", word, timestamp_ms=1)
            ...     [record.value for record in driver.output_topic("out").read_all()], driver.store(seen)
            (['to', 'be'], ['be', 'to'])
        """
        named = checked_name(name, "store")
        for what, given in (("factory", factory), ("view", view)):
            if not callable(given) and (what == "factory" or given is not None):
                message = f"Store {named!r}: {what} is {given!r}; it must be a class or a function."
                raise TopologyError(message)
        return CustomSpec(name=named, factory=factory, view=view)

    @staticmethod
    def window(
        name: str,
        *,
        retention: timedelta,
        window_size: timedelta,
        retain_duplicates: bool = False,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        cached: bool = True,
    ) -> WindowSpec[K, V]:
        """Describes a store of values by key and window start, a `WindowStore`.

        A window expires when its start is no later than the latest start put, less the retention.

        Args:
            name: name of the store.
            retention: how long windows are stored; at least as long as a window.
            window_size: from the start of a window to its end; reads show the end.
            retain_duplicates: store all values of the same key and start, in the order they were put.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            cached: whether an aggregation with this store uses the record cache, as in `timestamped_key_value`.

        Raises:
            TopologyError: for durations that are not positive, or a retention shorter than a window.

        Example:
            >>> day, hour = timedelta(days=1), timedelta(hours=1)
            >>> Stores.window("hourly", retention=day, window_size=hour).retention_ms
            86400000
        """
        return WindowSpec(
            **_windows(name, retention, window_size),
            retain_duplicates=retain_duplicates,
            key_serde=key_serde,
            value_serde=value_serde,
            cached=cached,
        )

    @staticmethod
    def timestamped_window(
        name: str,
        *,
        retention: timedelta,
        window_size: timedelta,
        retain_duplicates: bool = False,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        cached: bool = True,
    ) -> TimestampedWindowSpec[K, V]:
        """Describes a store of values with timestamps by key and window start, a `TimestampedWindowStore`.

        Reads return pairs `(value, timestamp_ms)`. The results of windowed aggregations are in such stores. Arguments
        and errors are those of `window`.
        """
        return TimestampedWindowSpec(
            **_windows(name, retention, window_size),
            retain_duplicates=retain_duplicates,
            key_serde=key_serde,
            value_serde=value_serde,
            cached=cached,
        )

    @staticmethod
    def timestamped_window_with_headers(
        name: str,
        *,
        retention: timedelta,
        window_size: timedelta,
        retain_duplicates: bool = False,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
    ) -> WindowWithHeadersSpec[K, V]:
        """Describes a store of values with timestamps and headers by key and window start (KIP-1271).

        It is a `TimestampedWindowStoreWithHeaders`. Arguments and errors are those of `window`.
        """
        return WindowWithHeadersSpec(
            **_windows(name, retention, window_size),
            retain_duplicates=retain_duplicates,
            key_serde=key_serde,
            value_serde=value_serde,
        )

    @staticmethod
    def session(
        name: str,
        *,
        retention: timedelta,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
        cached: bool = True,
    ) -> SessionSpec[K, V]:
        """Describes a store of values by key and session, a `SessionStore`.

        A session expires when its end is no later than the latest end put, less the retention.

        Args:
            name: name of the store.
            retention: how long sessions are stored.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.
            cached: whether an aggregation with this store uses the record cache, as in `timestamped_key_value`.

        Raises:
            TopologyError: for a retention that is not positive.

        Example:
            >>> Stores.session("visits", retention=timedelta(hours=1)).retention_ms
            3600000
        """
        named = checked_name(name, "store")
        retention_ms = checked_duration(retention, f"Store {named!r}: retention")
        return SessionSpec(
            name=named, retention_ms=retention_ms, key_serde=key_serde, value_serde=value_serde, cached=cached
        )

    @staticmethod
    def session_with_headers(
        name: str,
        *,
        retention: timedelta,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
    ) -> SessionWithHeadersSpec[K, V]:
        """Describes a store of values with headers by key and session, a `SessionStoreWithHeaders` (KIP-1271).

        Arguments and errors are those of `session`.
        """
        named = checked_name(name, "store")
        retention_ms = checked_duration(retention, f"Store {named!r}: retention")
        return SessionWithHeadersSpec(
            name=named, retention_ms=retention_ms, key_serde=key_serde, value_serde=value_serde
        )

    @staticmethod
    def versioned_key_value(
        name: str,
        *,
        history: timedelta,
        key_serde: Serde[K] | None = None,
        value_serde: Serde[V] | None = None,
    ) -> VersionedSpec[K, V]:
        """Describes a store of values by key and time of validity, a `VersionedKeyValueStore`.

        Versions older than the latest timestamp put, less the history, are neither accepted nor shown, except for the
        latest version of a key.

        Args:
            name: name of the store.
            history: how long versions are stored after a newer one replaced them.
            key_serde: serde of the keys; default: the configured one, then `serdes.String()`.
            value_serde: serde of the values; default: the configured one, then `serdes.Json()`.

        Raises:
            TopologyError: for a history that is not positive.

        Example:
            >>> Stores.versioned_key_value("prices", history=timedelta(days=1)).history_ms
            86400000
        """
        named = checked_name(name, "store")
        history_ms = checked_duration(history, f"Store {named!r}: history")
        return VersionedSpec(name=named, history_ms=history_ms, key_serde=key_serde, value_serde=value_serde)


def _windows(name: str, retention: timedelta, window_size: timedelta) -> dict[str, Any]:
    named = checked_name(name, "store")
    retention_ms = checked_duration(retention, f"Store {named!r}: retention")
    window_size_ms = checked_duration(window_size, f"Store {named!r}: window_size")
    if retention_ms < window_size_ms:
        message = (
            f"Store {named!r}: retention is {retention}, shorter than window_size, which is {window_size}. "
            f"Give it a retention of {window_size} or longer."
        )
        raise TopologyError(message)
    return {"name": named, "retention_ms": retention_ms, "window_size_ms": window_size_ms}
