"""The spec of the store that holds the rows of a table: from a name, or from a spec made by `Stores`."""

from __future__ import annotations

from typing import Any

from headrace._graph.graph import GraphBuilder
from headrace._graph.names import checked_name
from headrace.errors import TopologyError
from headrace.model.stores.specs import StoreSpec, TableStore, TimestampedKeyValueSpec, VersionedSpec
from headrace.serdes import Serde


def table_store_spec(
    given: str | StoreSpec,
    operation: str,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
    *kinds: type[StoreSpec],
) -> StoreSpec:
    """The spec of a table's store, `given` as a name or a spec. Serdes that the spec lacks are those of the table.

    A timestamped key-value store is always allowed; `kinds` are allowed as well.
    """
    if isinstance(given, str):
        return TimestampedKeyValueSpec(name=checked_name(given, "store"), key_serde=key_serde, value_serde=value_serde)
    allowed: tuple[type[StoreSpec], ...] = (TimestampedKeyValueSpec, *kinds)
    if not isinstance(given, allowed):
        wanted = " or ".join(f"Stores.{_FACTORIES[kind]}(...)" for kind in allowed)
        message = (
            f"{operation}() cannot use store={given!r}, because a table stores rows with timestamps: pass a name, or "
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


def result_store_spec(
    graph: GraphBuilder,
    given: TableStore | None,
    prefix: str,
    operation: str,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
) -> StoreSpec:
    """The spec of the store of an aggregation, which always has one. If `given` is `None`, its name is generated."""
    name_or_spec = graph.names.store(None, prefix) if given is None else given
    return table_store_spec(name_or_spec, operation, key_serde, value_serde, VersionedSpec)


_FACTORIES: dict[type[StoreSpec], str] = {
    TimestampedKeyValueSpec: "timestamped_key_value",
    VersionedSpec: "versioned_key_value",
}
