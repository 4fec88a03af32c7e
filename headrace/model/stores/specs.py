"""The specs of state stores: the name and serdes of each, and the settings of its kind."""

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
from headrace.model.time.windows import Windows
from headrace.model.type_variables import TypeVar

if TYPE_CHECKING:
    from headrace.serdes import Serde

K = TypeVar("K", default=Any)
V = TypeVar("V", default=Any)
StoreT = TypeVar("StoreT", covariant=True, default=Any)
ViewT = TypeVar("ViewT", covariant=True, default=Any)


@dataclass(frozen=True, kw_only=True)
class StoreSpec(Generic[StoreT, ViewT]):
    """Describes a state store. A serde of `None` stands for the configured default.

    For the type checker, `StoreT` is the type of the store in a processor, and `ViewT` its type in a query.
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
    """Values with their timestamps by key. With `cached=False`, the table of this store bypasses the record cache."""

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
    """A store of the user's own class: `factory` creates it, `view` combines the stores of all tasks for queries."""

    factory: Callable[[Any], StoreT]
    view: Callable[[tuple[StoreT, ...]], ViewT] | None = None


@dataclass(frozen=True, kw_only=True)
class WindowSpec(StoreSpec[WindowStore[K, V], ReadOnlyWindowStore[K, V]], Generic[K, V]):
    """Values by key and window start.

    With `retain_duplicates`, a put adds a value and replaces none. With `by_key`, every key has its own clock, by which
    its entries expire; otherwise all keys share one.
    """

    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    by_key: bool = False
    cached: bool = True


@dataclass(frozen=True, kw_only=True)
class TimestampedWindowSpec(
    StoreSpec[TimestampedWindowStore[K, V], ReadOnlyTimestampedWindowStore[K, V]], Generic[K, V]
):
    """Values with their timestamps by key and window start.

    With `by_key`, every key has its own clock, by which its entries expire. With `caller_expires`, the operator removes
    expired entries, and the store saves no times. `windows` are windows of the user's own, which know the end of each
    window; if `None`, all windows have the size `window_size_ms`.
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
    """Values with their timestamps and headers by key and window start.

    With `retain_duplicates`, a put adds a value and replaces none.
    """

    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False


@dataclass(frozen=True, kw_only=True)
class SessionSpec(StoreSpec[SessionStore[K, V], ReadOnlySessionStore[K, V]], Generic[K, V]):
    """Values by key and session. With `by_key`, every key has its own clock, by which its sessions expire."""

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
    """The rows that a suppressed table buffers. With `by_key`, rows are emitted by the stream time of their key."""

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class UnmatchedSpec(StoreSpec):
    """Records of an outer join that have not matched yet.

    They are emitted as unmatched by the stream time of the join or, with `by_key`, by that of their key.
    """

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class VersionedSpec(StoreSpec[VersionedKeyValueStore[K, V], ReadOnlyVersionedKeyValueStore[K, V]], Generic[K, V]):
    """Values by key and time of validity; versions are retained for `history_ms` after they were superseded."""

    history_ms: int


# The argument `store=` of a table or an aggregation without windows: a name, or a spec made by `Stores`.
TableStore: TypeAlias = str | TimestampedKeyValueSpec | VersionedSpec


@dataclass(frozen=True, kw_only=True)
class RecordBufferSpec(StoreSpec):
    """Records that a stream-table join with a grace period buffers, in the order of their timestamps."""
