"""The store that holds the rows of a table: named by the user, described by `Stores`, or generated."""

from __future__ import annotations

from typing import Any

from headrace._graph.names import checked_name
from headrace._graph.stores import StoreSpec, TimestampedKeyValueSpec, VersionedSpec
from headrace.errors import TopologyError
from headrace.serdes import Serde


def rows_store(
    given: str | StoreSpec,
    operation: str,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
    *kinds: type[StoreSpec],
) -> StoreSpec:
    """The described store; serdes it does not name are the table's. `kinds` are allowed besides the usual one."""
    if isinstance(given, str):
        return TimestampedKeyValueSpec(name=checked_name(given, "store"), key_serde=key_serde, value_serde=value_serde)
    allowed: tuple[type[StoreSpec], ...] = (TimestampedKeyValueSpec, *kinds)
    if not isinstance(given, allowed):
        wanted = " or ".join(f"Stores.{_FACTORIES[kind]}(...)" for kind in allowed)
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


_FACTORIES: dict[type[StoreSpec], str] = {
    TimestampedKeyValueSpec: "timestamped_key_value",
    VersionedSpec: "versioned_key_value",
}
