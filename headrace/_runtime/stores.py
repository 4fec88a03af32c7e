"""Creates stores from their descriptions. Only this module knows which class implements which kind of store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from headrace._graph.graph import Graph
from headrace._state.bytes.api import ByteReader, ByteStore
from headrace._state.bytes.combined import CombinedReader
from headrace._state.bytes.read_only import ReadOnlyStore
from headrace._state.layouts.lru import LruEntries, LruReader
from headrace._state.layouts.retention_clocks import CallerClock, KeyClock, RetentionClock, StoreClock
from headrace._state.stores.custom import CheckedReader, CheckedStore
from headrace._state.stores.key_value import (
    TypedKeyValueStore,
    TypedKeyValueStoreWithHeaders,
    TypedTimestampedKeyValueStore,
)
from headrace._state.stores.read_only import ReadOnlyView
from headrace._state.stores.record_buffer import RecordBuffer
from headrace._state.stores.session import TypedSessionStore, TypedSessionStoreWithHeaders
from headrace._state.stores.suppress_buffer import SuppressBuffer
from headrace._state.stores.unmatched import UnmatchedStore
from headrace._state.stores.versioned import TypedVersionedStore
from headrace._state.stores.window import TypedTimestampedWindowStore, TypedWindowStore, TypedWindowStoreWithHeaders
from headrace._state.views.key_value import KeyValueView, KeyValueViewWithHeaders, TimestampedKeyValueView
from headrace._state.views.records import RecordBufferView
from headrace._state.views.session import SessionView, SessionViewWithHeaders
from headrace._state.views.suppress import SuppressBufferView
from headrace._state.views.unmatched import UnmatchedView
from headrace._state.views.versioned import VersionedView
from headrace._state.views.window import TimestampedWindowView, WindowView, WindowViewWithHeaders
from headrace.errors import StateError, known_names, nearest
from headrace.model.stores import specs
from headrace.serdes import Serde

_Serdes = tuple[Serde[Any], Serde[Any]]
_Make = Callable[[Any, ByteStore, _Serdes], Any]


class _Kind(NamedTuple):
    """How to create the stores that one type of spec describes.

    `make` creates the store of one task on top of its byte store. `view` creates a read-only view over the byte stores
    of all tasks.
    """

    make: _Make
    view: Callable[[Any, Sequence[ByteStore], _Serdes], Any]


def known_store(graph: Graph, name: str) -> specs.StoreSpec:
    """Looks up the specification of a store by its name.

    Raises:
        StateError: if there is no store of that name; the message lists the known ones.
    """
    store = graph.stores.get(name)
    if store is None:
        known = graph.stores
        message = f"There is no store {name!r}.{nearest(name, known)} Known stores: {known_names(known)}."
        raise StateError(message)
    return store


def make_store(spec: specs.StoreSpec, contents: ByteStore, serdes: _Serdes) -> Any:
    """Creates the typed store of one task on top of its byte store, `contents`."""
    return _KINDS[type(spec)].make(spec, contents, serdes)


def make_read_only(spec: specs.StoreSpec, contents: ByteStore, serdes: _Serdes, reason: str) -> Any:
    """Creates the typed store of one task for processors that can only read it. Writes raise an error with `reason`."""
    if isinstance(spec, specs.LruSpec):
        # `get` of a writable LRU store also writes: it records that the entry was used.
        entries = cast("ByteStore", LruReader(contents))
        return ReadOnlyView(TypedKeyValueStore(entries, *serdes, name=spec.name), reason)
    return ReadOnlyView(make_store(spec, ReadOnlyStore(contents, reason), serdes), reason)


def make_view(spec: specs.StoreSpec, parts: Sequence[ByteReader], serdes: _Serdes) -> Any:
    """Creates a read-only view of a store over `parts`, the byte stores of its tasks."""
    readable = cast("Sequence[ByteStore]", parts)  # views never write
    return _KINDS[type(spec)].view(spec, readable, serdes)


def _key_value(spec: specs.StoreSpec, contents: ByteStore, serdes: _Serdes) -> TypedKeyValueStore[Any, Any]:
    return TypedKeyValueStore(contents, *serdes, name=spec.name)


def _timestamped(
    spec: specs.StoreSpec, contents: ByteStore, serdes: _Serdes
) -> TypedTimestampedKeyValueStore[Any, Any]:
    return TypedTimestampedKeyValueStore(contents, *serdes, name=spec.name)


def _with_headers(
    spec: specs.StoreSpec, contents: ByteStore, serdes: _Serdes
) -> TypedKeyValueStoreWithHeaders[Any, Any]:
    return TypedKeyValueStoreWithHeaders(contents, *serdes, name=spec.name)


def _lru(spec: specs.LruSpec, contents: ByteStore, serdes: _Serdes) -> TypedKeyValueStore[Any, Any]:
    return TypedKeyValueStore(LruEntries(contents, spec.max_entries), *serdes, name=spec.name)


def _lru_view(spec: specs.LruSpec, parts: Sequence[ByteStore], serdes: _Serdes) -> KeyValueView[Any, Any]:
    entries = cast("ByteStore", CombinedReader([LruReader(part) for part in parts]))
    return KeyValueView(TypedKeyValueStore(entries, *serdes, name=spec.name))


def _custom(spec: specs.CustomSpec, contents: ByteStore, serdes: _Serdes) -> Any:  # noqa: ARG001
    return _of_factory(spec, CheckedStore(contents, spec.name))


def _custom_view(spec: specs.CustomSpec, parts: Sequence[ByteStore], serdes: _Serdes) -> Any:  # noqa: ARG001
    of_tasks = tuple(_of_factory(spec, CheckedReader(part, spec.name)) for part in parts)
    return of_tasks if spec.view is None else spec.view(of_tasks)


def _of_factory(spec: specs.CustomSpec, entries: CheckedReader) -> Any:
    try:
        return spec.factory(entries)
    except StateError:
        raise
    except Exception as error:
        message = f"Store {spec.name!r}: its factory {spec.factory!r} failed: {type(error).__name__}: {error}."
        raise StateError(message) from error


def _window(spec: specs.WindowSpec, contents: ByteStore, serdes: _Serdes) -> TypedWindowStore[Any, Any]:
    return TypedWindowStore(contents, _clock(spec, contents), *serdes, **_window_settings(spec))


def _timestamped_window(
    spec: specs.TimestampedWindowSpec, contents: ByteStore, serdes: _Serdes
) -> TypedTimestampedWindowStore[Any, Any]:
    clock = CallerClock(spec.retention_ms) if spec.caller_expires else _clock(spec, contents)
    return TypedTimestampedWindowStore(contents, clock, *serdes, windows=spec.windows, **_window_settings(spec))


def _window_with_headers(
    spec: specs.WindowWithHeadersSpec, contents: ByteStore, serdes: _Serdes
) -> TypedWindowStoreWithHeaders[Any, Any]:
    clock = StoreClock(contents, spec.retention_ms)
    return TypedWindowStoreWithHeaders(contents, clock, *serdes, **_window_settings(spec))


def _window_settings(
    spec: specs.WindowSpec | specs.TimestampedWindowSpec | specs.WindowWithHeadersSpec,
) -> dict[str, Any]:
    """The settings that all kinds of window stores have."""
    return {
        "window_size_ms": spec.window_size_ms,
        "retain_duplicates": spec.retain_duplicates,
        "name": spec.name,
    }


def _session(spec: specs.SessionSpec, contents: ByteStore, serdes: _Serdes) -> TypedSessionStore[Any, Any]:
    return TypedSessionStore(contents, _clock(spec, contents), *serdes, name=spec.name)


def _session_with_headers(
    spec: specs.SessionWithHeadersSpec, contents: ByteStore, serdes: _Serdes
) -> TypedSessionStoreWithHeaders[Any, Any]:
    return TypedSessionStoreWithHeaders(contents, StoreClock(contents, spec.retention_ms), *serdes, name=spec.name)


def _clock(
    spec: specs.WindowSpec | specs.TimestampedWindowSpec | specs.SessionSpec, contents: ByteStore
) -> RetentionClock:
    return (KeyClock if spec.by_key else StoreClock)(contents, spec.retention_ms)


def _suppress_buffer(spec: specs.SuppressBufferSpec, contents: ByteStore, serdes: _Serdes) -> SuppressBuffer[Any, Any]:
    return SuppressBuffer(contents, *serdes, each_key=spec.by_key, name=spec.name)


def _records(spec: specs.RecordBufferSpec, contents: ByteStore, serdes: _Serdes) -> RecordBuffer[Any, Any]:
    return RecordBuffer(contents, *serdes, name=spec.name)


def _unmatched(spec: specs.UnmatchedSpec, contents: ByteStore, serdes: _Serdes) -> UnmatchedStore[Any]:
    return UnmatchedStore(contents, *serdes, each_key=spec.by_key, name=spec.name)


def _versioned(spec: specs.VersionedSpec, contents: ByteStore, serdes: _Serdes) -> TypedVersionedStore[Any, Any]:
    return TypedVersionedStore(contents, spec.history_ms, *serdes, name=spec.name)


def _merged_view(make: _Make, view: Callable[[Any], Any]) -> _Kind:
    """For key-value stores: the view reads the byte stores of all tasks as one.

    This may be used only for stores that contain nothing but their entries. A store that also saves the time by which
    entries expire, or a count, does so in each task, and needs `_view_per_task`. `make` creates a store over the byte
    stores of all tasks together, and `view` creates the view from that store.
    """
    return _Kind(make, lambda spec, parts, serdes: view(make(spec, cast("ByteStore", CombinedReader(parts)), serdes)))


def _view_per_task(make: _Make, view: Callable[[Sequence[Any]], Any]) -> _Kind:
    """For stores that save the time by which entries expire, or a count: the view reads each task's store separately.

    `make` creates the store of each task, and `view` creates the view from the list of these stores.
    """
    return _Kind(make, lambda spec, parts, serdes: view([make(spec, part, serdes) for part in parts]))


_KINDS: dict[type[specs.StoreSpec], _Kind] = {
    specs.KeyValueSpec: _merged_view(_key_value, KeyValueView),
    specs.TimestampedKeyValueSpec: _merged_view(_timestamped, TimestampedKeyValueView),
    specs.KeyValueWithHeadersSpec: _merged_view(_with_headers, KeyValueViewWithHeaders),
    specs.LruSpec: _Kind(_lru, _lru_view),
    specs.CustomSpec: _Kind(_custom, _custom_view),
    specs.WindowSpec: _view_per_task(_window, WindowView),
    specs.TimestampedWindowSpec: _view_per_task(_timestamped_window, TimestampedWindowView),
    specs.WindowWithHeadersSpec: _view_per_task(_window_with_headers, WindowViewWithHeaders),
    specs.SessionSpec: _view_per_task(_session, SessionView),
    specs.SessionWithHeadersSpec: _view_per_task(_session_with_headers, SessionViewWithHeaders),
    specs.SuppressBufferSpec: _view_per_task(_suppress_buffer, SuppressBufferView),
    specs.RecordBufferSpec: _view_per_task(_records, RecordBufferView),
    specs.UnmatchedSpec: _view_per_task(_unmatched, UnmatchedView),
    specs.VersionedSpec: _view_per_task(_versioned, VersionedView),
}
