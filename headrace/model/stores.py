"""`Stores`: describes the state stores of processors and tables; every task creates its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace._graph.checks import checked_duration
from headrace._graph.names import checked_name
from headrace._graph.stores import (
    KeyValueSpec,
    SessionSpec,
    TimestampedKeyValueSpec,
    VersionedSpec,
    WindowSpec,
)
from headrace._state.stores.versioned import NEWEST, NOT_PUT
from headrace._state.views.suppress import WaitingRow
from headrace.errors import TopologyError
from headrace.model.store_interfaces import ValueAndTimestamp, VersionedRecord
from headrace.model.type_variables import TypeVar
from headrace.serdes import Serde

__all__ = ["NEWEST", "NOT_PUT", "Stores", "ValueAndTimestamp", "VersionedRecord", "WaitingRow"]

# Without serdes, keys are texts and values are JSON: the defaults of `StreamsConfig`.
K = TypeVar("K", default=str)
V = TypeVar("V", default=Any)


class Stores:
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
        named = checked_name(name, "store")
        retention_ms = checked_duration(retention, f"Store {named!r}: retention")
        window_size_ms = checked_duration(window_size, f"Store {named!r}: window_size")
        if retention_ms < window_size_ms:
            message = (
                f"Store {named!r}: retention is {retention}, shorter than window_size, which is {window_size}. "
                f"Give it a retention of {window_size} or longer."
            )
            raise TopologyError(message)
        return WindowSpec(
            name=named,
            retention_ms=retention_ms,
            window_size_ms=window_size_ms,
            retain_duplicates=retain_duplicates,
            key_serde=key_serde,
            value_serde=value_serde,
            cached=cached,
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
