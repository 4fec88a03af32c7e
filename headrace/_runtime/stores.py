"""From the description of a store to the store: the only place that knows which class is which kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from headrace._graph import stores
from headrace._graph.graph import Graph
from headrace._state.api import ByteReader, ByteStore
from headrace._state.combined import CombinedReader
from headrace._state.readonly import ReadOnlyKeyValueStore, ReadOnlyTimestampedStore
from headrace._state.stores import KeyValueStore, TimestampedKeyValueStore
from headrace.errors import StateError, known_names, nearest
from headrace.serdes import Serde

_Serdes = tuple[Serde[Any], Serde[Any]]


class _Kind(NamedTuple):
    """`make` the typed store of one task; `view` what a query sees of the parts that all tasks hold."""

    make: Callable[[Any, ByteStore, _Serdes], Any]
    view: Callable[[Any, Sequence[ByteStore], _Serdes], Any]


def known_store(graph: Graph, name: str) -> stores.Store:
    """The store of that name, or an error that lists those there are."""
    store = graph.stores.get(name)
    if store is None:
        known = graph.stores
        message = f"There is no store {name!r}.{nearest(name, known)} Known stores: {known_names(known)}."
        raise StateError(message)
    return store


def make_store(spec: stores.Store, contents: ByteStore, serdes: _Serdes) -> Any:
    """The typed store of one task, on its bytes."""
    return _KINDS[type(spec)].make(spec, contents, serdes)


def make_view(spec: stores.Store, parts: Sequence[ByteReader], serdes: _Serdes) -> Any:
    """What a query sees of a store: reads only, over the tasks that hold a part of it."""
    readable = cast("Sequence[ByteStore]", parts)  # views never write
    return _KINDS[type(spec)].view(spec, readable, serdes)


def _key_value(spec: stores.Store, contents: ByteStore, serdes: _Serdes) -> KeyValueStore[Any, Any]:
    return KeyValueStore(contents, *serdes, name=spec.name)


def _timestamped(spec: stores.Store, contents: ByteStore, serdes: _Serdes) -> TimestampedKeyValueStore[Any, Any]:
    return TimestampedKeyValueStore(contents, *serdes, name=spec.name)


def _whole(parts: Sequence[ByteStore]) -> ByteStore:
    return cast("ByteStore", CombinedReader(parts))


_KINDS: dict[type[stores.Store], _Kind] = {
    stores.KeyValue: _Kind(
        _key_value, lambda spec, parts, serdes: ReadOnlyKeyValueStore(_key_value(spec, _whole(parts), serdes))
    ),
    stores.TimestampedKeyValue: _Kind(
        _timestamped, lambda spec, parts, serdes: ReadOnlyTimestampedStore(_timestamped(spec, _whole(parts), serdes))
    ),
}
