"""What a topology asks of its state stores: a name, serdes, and for each kind what it keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

from headrace.model.stores.interfaces import (
    KeyValueStore,
    ReadOnlyKeyValueStore,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyTimestampedKeyValueStoreWithHeaders,
    ReadOnlyVersionedKeyValueStore,
    TimestampedKeyValueStore,
    TimestampedKeyValueStoreWithHeaders,
    VersionedKeyValueStore,
)
from headrace.model.stores.windowed_interfaces import (
    ReadOnlySessionStore,
    ReadOnlySessionStoreWithHeaders,
    ReadOnlyTimestampedWindowStore,
    ReadOnlyTimestampedWindowStoreWithHeaders,
    ReadOnlyWindowStore,
    SessionStore,
    SessionStoreWithHeaders,
    TimestampedWindowStore,
    TimestampedWindowStoreWithHeaders,
    WindowStore,
)
from headrace.model.type_variables import TypeVar
from headrace.model.windows import Windows

if TYPE_CHECKING:
    from headrace.serdes import Serde

K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
StoreT = TypeVar("StoreT", covariant=True, default=Any)
ViewT = TypeVar("ViewT", covariant=True, default=Any)


@dataclass(frozen=True, kw_only=True)
class StoreSpec(Generic[StoreT, ViewT]):
    """Describes a state store; serdes of `None` are the configured ones.

    For the type checker it also says what a processor sees of the store (`StoreT`), and what a query sees (`ViewT`).
    """

    name: str
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class KeyValueSpec(StoreSpec[KeyValueStore[K, V], ReadOnlyKeyValueStore[K, V]], Generic[K, V]):
    """Values by key."""


@dataclass(frozen=True, kw_only=True)
class TimestampedKeyValueSpec(
    StoreSpec[TimestampedKeyValueStore[K, V], ReadOnlyTimestampedKeyValueStore[K, V]], Generic[K, V]
):
    """Values with their timestamps by key. If a table is not `cached`, it forwards every update of its rows."""

    cached: bool = True


@dataclass(frozen=True, kw_only=True)
class KeyValueWithHeadersSpec(
    StoreSpec[TimestampedKeyValueStoreWithHeaders[K, V], ReadOnlyTimestampedKeyValueStoreWithHeaders[K, V]],
    Generic[K, V],
):
    """Values with their timestamps and headers by key."""


@dataclass(frozen=True, kw_only=True)
class LruSpec(StoreSpec[KeyValueStore[K, V], ReadOnlyKeyValueStore[K, V]], Generic[K, V]):
    """Values by key: at most `max_entries` in each task, those that were used last."""

    max_entries: int


@dataclass(frozen=True, kw_only=True)
class CustomSpec(StoreSpec[StoreT, ViewT], Generic[StoreT, ViewT]):
    """A store of the user's own class: `factory` creates it, `view` combines those of all tasks for queries."""

    factory: Callable[[Any], StoreT]
    view: Callable[[tuple[StoreT, ...]], ViewT] | None = None


@dataclass(frozen=True, kw_only=True)
class WindowSpec(StoreSpec[WindowStore[K, V], ReadOnlyWindowStore[K, V]], Generic[K, V]):
    """Values by key and window start; with duplicates, every value put. `by_key` forgets by the time of each key."""

    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    by_key: bool = False
    cached: bool = True


@dataclass(frozen=True, kw_only=True)
class TimestampedWindowSpec(
    StoreSpec[TimestampedWindowStore[K, V], ReadOnlyTimestampedWindowStore[K, V]], Generic[K, V]
):
    """Values with their timestamps by key and window start; `by_key` forgets by the time of each key.

    A store that is `caller_expires` what to forget keeps no times itself. `windows` are windows of the user's own,
    which know the end of a window; those of other windows all have the same size.
    """

    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    by_key: bool = False
    caller_expires: bool = False
    cached: bool = True
    windows: Windows | None = None


@dataclass(frozen=True, kw_only=True)
class WindowWithHeadersSpec(
    StoreSpec[TimestampedWindowStoreWithHeaders[K, V], ReadOnlyTimestampedWindowStoreWithHeaders[K, V]],
    Generic[K, V],
):
    """Values with their timestamps and headers by key and window start; with duplicates, every value put."""

    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False


@dataclass(frozen=True, kw_only=True)
class SessionSpec(StoreSpec[SessionStore[K, V], ReadOnlySessionStore[K, V]], Generic[K, V]):
    """Values by key and session; `by_key` forgets by the time of each key."""

    retention_ms: int
    by_key: bool = False
    cached: bool = True


@dataclass(frozen=True, kw_only=True)
class SessionWithHeadersSpec(
    StoreSpec[SessionStoreWithHeaders[K, V], ReadOnlySessionStoreWithHeaders[K, V]], Generic[K, V]
):
    """Values with their headers by key and session."""

    retention_ms: int


@dataclass(frozen=True, kw_only=True)
class SuppressBufferSpec(StoreSpec):
    """The rows a suppressed table holds back; `by_key` lets those of each key leave by the time of that key."""

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class UnmatchedSpec(StoreSpec):
    """Records of an outer join that have not matched yet.

    They are emitted as unmatched by the stream time of the partition or, with `by_key`, by that of their key.
    """

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class VersionedSpec(StoreSpec[VersionedKeyValueStore[K, V], ReadOnlyVersionedKeyValueStore[K, V]], Generic[K, V]):
    """Values by key and time of validity."""

    history_ms: int


# What `store=` of a table or an aggregation without windows takes: a name, or a spec made by `Stores`.
TableStore: TypeAlias = str | TimestampedKeyValueSpec | VersionedSpec


@dataclass(frozen=True, kw_only=True)
class RecordBufferSpec(StoreSpec):
    """Records that wait, in the order of their timestamps."""
