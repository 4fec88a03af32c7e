"""The store that holds the rows of a table: named by the user, described by `Stores`, or generated."""

from __future__ import annotations

from typing import Any

from headrace._graph.names import checked_name
from headrace._graph.stores import Store, TimestampedKeyValue
from headrace.errors import TopologyError
from headrace.serdes import Serde


def rows_store(
    given: str | Store,
    operation: str,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
    *kinds: type[Store],
) -> Store:
    """The described store; serdes it does not name are the table's. `kinds` are allowed besides the usual one."""
    if isinstance(given, str):
        return TimestampedKeyValue(name=checked_name(given, "store"), key_serde=key_serde, value_serde=value_serde)
    allowed: tuple[type[Store], ...] = (TimestampedKeyValue, *kinds)
    if not isinstance(given, allowed):
        wanted = " or ".join(f"Stores.{_FACTORIES[kind.__name__]}(...)" for kind in allowed)
        message = (
            f"{operation}() was given store={given!r}; a table keeps its rows with their timestamps: give a name, or "
            f"{wanted}."
        )
        raise TopologyError(message)
    return type(given)(
        **{
            **vars(given),
            "key_serde": given.key_serde or key_serde,
            "value_serde": given.value_serde or value_serde,
        }
    )


_FACTORIES = {"TimestampedKeyValue": "timestamped_key_value", "Versioned": "versioned_key_value"}
