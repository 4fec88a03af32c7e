"""What the views of key-value, window and session stores have in common: they show what is stored in a simpler form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar, cast

from headrace._suggestions.attributes import suggest_attributes
from headrace.model.stores.interfaces import ValueAndTimestamp

P = TypeVar("P")
V = TypeVar("V")


@suggest_attributes
class ShownReads(Generic[P, V]):
    """Reads of the stores of all tasks, `parts`. At most one part has a key; each part has its own clock.

    `show` turns what is stored for a key into what a read returns; `None` if it is the same.
    """

    def __init__(self, parts: Iterable[P], show: Callable[[Any], V] | None) -> None:
        self._parts = tuple(parts)
        self._show = show

    def _first(self, found: Iterable[Any]) -> V | None:
        """What is stored for one key, if one of the parts has it."""
        stored = next((one for one in found if one is not None), None)
        return cast("V | None", stored) if stored is None or self._show is None else self._show(stored)

    def _shown(self, entries: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, V]]:
        """Entries with their keys."""
        show = self._show
        return entries if show is None else ((key, show(stored)) for key, stored in entries)


def value_and_timestamp(stored: tuple[Any, ...]) -> ValueAndTimestamp[Any]:
    """The first two fields of what a store with timestamps holds."""
    return ValueAndTimestamp(stored[0], stored[1])
