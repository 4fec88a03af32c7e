"""`Stores`: what a processor may keep, described; the stores themselves are made where a task runs."""

from __future__ import annotations

from typing import Any

from headrace._graph import stores
from headrace._graph.names import checked_name
from headrace.serdes import Serde


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
    ) -> stores.KeyValue:
        """Values by key: `get put put_if_absent delete range prefix_scan all`."""
        return stores.KeyValue(name=checked_name(name, "store"), key_serde=key_serde, value_serde=value_serde)

    @staticmethod
    def timestamped_key_value(
        name: str, *, key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None
    ) -> stores.TimestampedKeyValue:
        """Values with their timestamps by key: the same calls, `put(key, value, timestamp_ms)`, reads show the pair."""
        return stores.TimestampedKeyValue(
            name=checked_name(name, "store"), key_serde=key_serde, value_serde=value_serde
        )
