"""`Stores`: what a processor may keep, described; the stores themselves are made where a task runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headrace._graph import stores
from headrace._graph.checks import checked_duration
from headrace._graph.names import checked_name
from headrace._state.stores.versioned import NEWEST, NOT_PUT, VersionedRecord
from headrace._state.views.key_value import ValueAndTimestamp
from headrace._state.views.suppress import WaitingRow
from headrace.errors import TopologyError
from headrace.serdes import Serde

__all__ = ["NEWEST", "NOT_PUT", "Stores", "ValueAndTimestamp", "VersionedRecord", "WaitingRow"]


class Stores:
    """Describes state stores, for `process(stores=[...])` and `Topology.add_state_store()`.

    Example:
        >>> from headrace import serdes
        >>> Stores.key_value("last-seen", key_serde=serdes.String(), value_serde=serdes.Long()).name
        'last-seen'
    """

    @staticmethod
    def key_value(
        name: str, *, key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None
    ) -> stores.KeyValueSpec:
        """Values by key: `get put put_if_absent delete range prefix_scan all`."""
        return stores.KeyValueSpec(name=checked_name(name, "store"), key_serde=key_serde, value_serde=value_serde)

    @staticmethod
    def timestamped_key_value(
        name: str, *, key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None
    ) -> stores.TimestampedKeyValueSpec:
        """Values with their timestamps by key: the same calls, `put(key, value, timestamp_ms)`, reads show the pair."""
        return stores.TimestampedKeyValueSpec(
            name=checked_name(name, "store"), key_serde=key_serde, value_serde=value_serde
        )

    @staticmethod
    def window(
        name: str,
        *,
        retention: timedelta,
        window_size: timedelta,
        retain_duplicates: bool = False,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
    ) -> stores.WindowSpec:
        """Values by key and window start: `put fetch fetch_range fetch_all all`.

        A window is kept while its start is later than the latest start put less the retention.

        Args:
            name: of the store.
            retention: for how long windows are kept; no shorter than a window.
            window_size: from the start of a window to its end, which is shown with it.
            retain_duplicates: keep all values of the same key and start, in the order they were put.
            key_serde: of the keys; by default the configured one.
            value_serde: of the values; by default the configured one.

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
        return stores.WindowSpec(
            name=named,
            retention_ms=retention_ms,
            window_size_ms=window_size_ms,
            retain_duplicates=retain_duplicates,
            key_serde=key_serde,
            value_serde=value_serde,
        )

    @staticmethod
    def session(
        name: str,
        *,
        retention: timedelta,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
    ) -> stores.SessionSpec:
        """Values by key and session: `put remove fetch fetch_range fetch_session find_sessions all`.

        A session is kept while its end is later than the latest end put less the retention.

        Raises:
            TopologyError: for a retention that is not positive.

        Example:
            >>> Stores.session("visits", retention=timedelta(hours=1)).retention_ms
            3600000
        """
        named = checked_name(name, "store")
        retention_ms = checked_duration(retention, f"Store {named!r}: retention")
        return stores.SessionSpec(name=named, retention_ms=retention_ms, key_serde=key_serde, value_serde=value_serde)

    @staticmethod
    def versioned_key_value(
        name: str,
        *,
        history: timedelta,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
    ) -> stores.VersionedSpec:
        """Values by key and time of validity: `put get get_as_of delete all`.

        A version older than the latest timestamp put less the history is neither accepted nor shown, but for the
        latest one of its key.

        Raises:
            TopologyError: for a history that is not positive.

        Example:
            >>> Stores.versioned_key_value("prices", history=timedelta(days=1)).history_ms
            86400000
        """
        named = checked_name(name, "store")
        history_ms = checked_duration(history, f"Store {named!r}: history")
        return stores.VersionedSpec(name=named, history_ms=history_ms, key_serde=key_serde, value_serde=value_serde)
