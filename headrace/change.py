"""A change of a table's row."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

V = TypeVar("V")


class Change(msgspec.Struct, Generic[V], frozen=True):
    """The new value of a row and, where someone downstream needs it, the value it replaces.

    `is_latest` is false for a change of a versioned table that came too late to be the row's newest version.
    """

    new: V | None
    old: V | None
    is_latest: bool = True
