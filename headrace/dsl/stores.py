"""`Stores`: describes the state stores of processors and tables. Every task has a store of its own."""

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

# Without serdes, keys are text and values are JSON: the defaults of `StreamsConfig`.
K = TypeVar("K", default=str)
V = TypeVar("V", default=Any)
StoreT = TypeVar("StoreT")
ViewT = TypeVar("ViewT")


class Stores(metaclass=SuggestingMeta):
    """Describes state stores, for `process(stores=[...])`, `builder.table(store=...)` and `add_state_store()`.

    Each method returns a spec, whose serdes tell type checkers the types of keys and values. With the spec,
    `context.state_store(spec)`, `app.store(spec)` and `driver.store(spec)` return a typed store; with only the name of
    the store, they return `Any`.

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
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.
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

        In a processor, reads return pairs `(value, timestamp_ms)`. Tables keep their rows, and aggregations their
        results, in stores of this kind.

        Args:
            name: name of the store.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.
            cached: whether a table with this store uses the record cache of the application, if there is one (the
                setting `statestore_cache_max_bytes`). If `False`, the table forwards every update.
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
        """Describes a store of values by key with a limited number of entries, a `KeyValueStore`.

        If the limit is exceeded, the least recently used entry is removed. A `get`, `put`, `put_if_absent` or `delete`
        in a processor uses an entry. Scans do not, and neither do queries from outside. The order of use is part of the
        state: a restart does not change which entries are removed.

        Args:
            name: name of the store.
            max_entries: the most entries that the store may have in each task, that is, for each partition.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.

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

        Entries of the `ByteStore` are as safe as those of the built-in stores: they are committed exactly once with the
        micro-batch, and restored on another machine. Keep all state there. On Spark, each micro-batch creates a new
        object of your class, so its fields can only cache entries.

        Args:
            name: name of the store.
            factory: the class, or a function. It is called with the `ByteStore` of a task, and returns the store that
                `context.state_store()` returns to processors.
            view: `view(stores)` returns what `app.store()` and `driver.store()` return; it is called with the tuple of
                the stores of all tasks, in the order of the partitions. Their `ByteStore` raises an error on writes.
                Default: the tuple itself.

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

        A window expires when a window whose start is later by `retention` or more is put into the store of the task.
        Reads do not return expired windows, and a put of one is ignored.

        Args:
            name: name of the store.
            retention: how long windows are stored, counted from their start; at least `window_size`.
            window_size: length of a window. The `Windowed` keys that reads return have the end of the window.
            retain_duplicates: whether several values of the same key and start are all stored, in the order in which
                they were put. By default a put replaces the value.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.
            cached: whether an aggregation with this store uses the record cache; see `timestamped_key_value`.

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

        In a processor, reads return pairs `(value, timestamp_ms)`. Windowed aggregations keep their results in stores
        of this kind. Arguments and errors are those of `window`.
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

        A session expires when a session whose end is later by `retention` or more is put into the store of the task.
        Reads do not return expired sessions.

        Args:
            name: name of the store.
            retention: how long sessions are stored, counted from their end.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.
            cached: whether an aggregation with this store uses the record cache; see `timestamped_key_value`.

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
        """Describes a store that keeps earlier versions of the value of each key, a `VersionedKeyValueStore`.

        A version is valid from its timestamp until the timestamp of the next version of its key. The history begins
        `history` before the highest timestamp that was put into the store of the task. A version that is older is not
        stored, and of times before the history only the latest version of a key can be read, which never expires.

        Args:
            name: name of the store.
            history: how far back, in event time, earlier versions can be read and late ones stored.
            key_serde: serde of the keys; default: the setting `default_key_serde`, else `serdes.String()`.
            value_serde: serde of the values; default: the setting `default_value_serde`, else `serdes.Json()`.

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
