"""Descriptions of the state stores of a topology: a name, serdes, and the settings of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.serdes import Serde


@dataclass(frozen=True, kw_only=True)
class StoreSpec:
    """Describes a state store; serdes of `None` are the configured ones."""

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
    """Values by key and window start, or all values put if it retains duplicates.

    With `by_key`, entries expire by the time of their key.
    """

    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class TimestampedWindowSpec(StoreSpec):
    """Values with their timestamps by key and window start; with `by_key`, entries expire by the time of their key.

    With `caller_expires`, the operator that writes to the store tracks the times and decides what expires.
    """

    retention_ms: int
    window_size_ms: int
    by_key: bool = False
    caller_expires: bool = False


@dataclass(frozen=True, kw_only=True)
class SessionSpec(StoreSpec):
    """Values by key and session; with `by_key`, entries expire by the time of their key."""

    retention_ms: int
    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class SuppressBufferSpec(StoreSpec):
    """The rows that a suppressed table buffers; with `by_key`, rows are emitted by the time of their key."""

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class UnmatchedSpec(StoreSpec):
    """Unmatched records of a join; with `by_key`, records are emitted by the time of their key."""

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class VersionedSpec(StoreSpec):
    """Values by key and time of validity."""

    history_ms: int


@dataclass(frozen=True, kw_only=True)
class RecordBufferSpec(StoreSpec):
    """Buffered records, in the order of their timestamps."""
