"""What a topology asks of its state stores: a name, serdes, and for each kind what it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeAlias

from headrace.model.store_interfaces import (
    KeyValueStore,
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyTimestampedKeyValueStore,
    ReadOnlyVersionedKeyValueStore,
    ReadOnlyWindowStore,
    SessionStore,
    TimestampedKeyValueStore,
    VersionedKeyValueStore,
    WindowStore,
)
from headrace.model.type_variables import TypeVar
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
    """Values with their timestamps by key."""


@dataclass(frozen=True, kw_only=True)
class WindowSpec(StoreSpec[WindowStore[K, V], ReadOnlyWindowStore[K, V]], Generic[K, V]):
    """Values by key and window start; with duplicates, every value put. `by_key` forgets by the time of each key."""

    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class TimestampedWindowSpec(StoreSpec):
    """Values with their timestamps by key and window start; `by_key` forgets by the time of each key.

    A store that is `caller_expires` what to forget keeps no times itself.
    """

    retention_ms: int
    window_size_ms: int
    by_key: bool = False
    caller_expires: bool = False


@dataclass(frozen=True, kw_only=True)
class SessionSpec(StoreSpec[SessionStore[K, V], ReadOnlySessionStore[K, V]], Generic[K, V]):
    """Values by key and session; `by_key` forgets by the time of each key."""

    retention_ms: int
    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class SuppressBufferSpec(StoreSpec):
    """The rows a suppressed table holds back; `by_key` lets those of each key leave by the time of that key."""

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class UnmatchedSpec(StoreSpec):
    """Records of a join without a partner; `by_key` gives those of each key up by the time of that key."""

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
