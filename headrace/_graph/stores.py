"""Specs of state stores: what a topology knows about a store. `_runtime/stores.py` creates the stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.serdes import Serde


@dataclass(frozen=True, kw_only=True)
class StoreSpec:
    """The spec of a state store; a serde of `None` stands for the configured default."""

    name: str
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class KeyValueSpec(StoreSpec):
    """Values by key."""


@dataclass(frozen=True, kw_only=True)
class TimestampedKeyValueSpec(StoreSpec):
    """Values with their timestamps by key."""


@dataclass(frozen=True, kw_only=True)
class WindowSpec(StoreSpec):
    """Values by key and window start; `retain_duplicates`: all values. `by_key`: each key expires by its time."""

    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class TimestampedWindowSpec(StoreSpec):
    """Values with their timestamps by key and window start; `by_key`: each key expires by its own stream time.

    With `caller_expires`, the caller, not the store, decides what expires.
    """

    retention_ms: int
    window_size_ms: int
    by_key: bool = False
    caller_expires: bool = False


@dataclass(frozen=True, kw_only=True)
class SessionSpec(StoreSpec):
    """Values by key and session; `by_key`: each key expires by its own stream time."""

    retention_ms: int
    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class SuppressBufferSpec(StoreSpec):
    """The rows that a suppressed table holds back; `by_key`: each key's rows are released by its own stream time."""

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class UnmatchedSpec(StoreSpec):
    """Unmatched records of a stream-stream join; `by_key`: each key's records expire by its own stream time."""

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class VersionedSpec(StoreSpec):
    """Values by key and time of validity."""

    history_ms: int


@dataclass(frozen=True, kw_only=True)
class RecordBufferSpec(StoreSpec):
    """Buffered records, in the order of their timestamps."""
