"""What a topology asks of its state stores: a name, serdes, and for each kind what it keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.serdes import Serde


@dataclass(frozen=True, kw_only=True)
class Store:
    """A state store; serdes of `None` are the configured ones."""

    name: str
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class KeyValue(Store):
    """Values by key."""


@dataclass(frozen=True, kw_only=True)
class TimestampedKeyValue(Store):
    """Values with their timestamps by key."""


@dataclass(frozen=True, kw_only=True)
class Window(Store):
    """Values by key and window start; with duplicates, every value put. `by_key` forgets by the time of each key."""

    retention_ms: int
    window_size_ms: int
    retain_duplicates: bool = False
    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class TimestampedWindow(Store):
    """Values with their timestamps by key and window start; `by_key` forgets by the time of each key.

    A store that is `told` what to forget keeps no times itself.
    """

    retention_ms: int
    window_size_ms: int
    by_key: bool = False
    told: bool = False


@dataclass(frozen=True, kw_only=True)
class Session(Store):
    """Values by key and session; `by_key` forgets by the time of each key."""

    retention_ms: int
    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class SuppressBuffer(Store):
    """The rows a suppressed table holds back; `by_key` lets those of each key leave by the time of that key."""

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class Unjoined(Store):
    """Records of a join without a partner; `by_key` gives those of each key up by the time of that key."""

    by_key: bool = False


@dataclass(frozen=True, kw_only=True)
class Versioned(Store):
    """Values by key and time of validity."""

    history_ms: int


@dataclass(frozen=True, kw_only=True)
class RecordBuffer(Store):
    """Records that wait, in the order of their timestamps."""
