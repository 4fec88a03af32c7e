"""What the views of key-value, window and session stores share: reads return less than what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar, cast

from headrace._suggestions.attributes import suggest_attributes
from headrace.model.stores.interfaces import ValueAndTimestamp

P = TypeVar("P")
V = TypeVar("V")


@suggest_attributes
class ShownReads(Generic[P, V]):
    """Reads of the stores of all tasks, `parts`. A key is in at most one of them; each has its own clock.

    `show` turns what is stored for a key into what a read returns; with `None`, reads return it unchanged.
    """

    def __init__(self, parts: Iterable[P], show: Callable[[Any], V] | None) -> None:
        self._parts = tuple(parts)
        self._show = show

    def _first(self, found: Iterable[Any]) -> V | None:
        """Returns the value of a key as reads show it; `None` if no task has the key.

        `found` yields what each task stores for the key, or `None`. At most one task has the key.
        """
        stored = next((one for one in found if one is not None), None)
        return cast("V | None", stored) if stored is None or self._show is None else self._show(stored)

    def _shown(self, entries: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, V]]:
        """Turns the stored form of each entry into what a read returns."""
        show = self._show
        return entries if show is None else ((key, show(stored)) for key, stored in entries)


def value_and_timestamp(stored: tuple[Any, ...]) -> ValueAndTimestamp[Any]:
    """The value and timestamp of an entry, which may have headers as well."""
    return ValueAndTimestamp(stored[0], stored[1])
