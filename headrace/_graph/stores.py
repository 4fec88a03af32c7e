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
class Versioned(Store):
    """Versions of values by key."""

    history_ms: int
