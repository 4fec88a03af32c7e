"""Read-only window stores for queries, with plain values, over the stores of all tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any, Generic, TypeVar, overload

from headrace._state.stores.window import TypedTimestampedWindowStore, TypedWindowStore
from headrace._suggestions.attributes import suggest_attributes
from headrace.model.windows import Windowed

K = TypeVar("K")
V = TypeVar("V")

_Part = TypedWindowStore[K, V] | TypedTimestampedWindowStore[K, V]


@suggest_attributes
class WindowView(Generic[K, V]):
    """A window store for reading. At most one part has windows of a key; each part has its own clock.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.clocks import StoreClock
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> contents = MemoryStore()
        >>> clock = StoreClock(contents, retention_ms=20)
        >>> store = TypedTimestampedWindowStore(contents, clock, serdes.String(), serdes.Long(), window_size_ms=10)
        >>> store.put("bern", 3, 0, 7)
        >>> view = WindowView([store])
        >>> view.fetch("bern", 0), [(str(windowed), value) for windowed, value in view.all()]
        (3, [('[bern@0/10]', 3)])
    """

    def __init__(self, parts: Sequence[_Part[K, V]]) -> None:
        self._parts = tuple(parts)

    @overload
    def fetch(self, key: K, start_ms: int, /) -> V | None: ...

    @overload
    def fetch(self, key: K, from_ms: int, to_ms: int) -> Iterator[tuple[int, V]]: ...

    def fetch(self, key: K, from_ms: int, to_ms: int | None = None) -> V | Iterator[tuple[int, V]] | None:
        """The value of the window that starts at a time; or all that start from one time to another, both inclusive."""
        if to_ms is not None:
            return merge(
                *(_without_timestamps(part, part.fetch(key, from_ms, to_ms)) for part in self._parts), key=itemgetter(0)
            )
        for part in self._parts:
            found = part.fetch(key, from_ms)
            if found is not None:
                value: V = _value_of(part)(found)
                return value
        return None

    @overload
    def fetch_range(self, key: K, /, from_ms: int, to_ms: int) -> Iterator[tuple[int, V]]: ...

    @overload
    def fetch_range(
        self, from_key: K | None, to_key: K | None, /, from_ms: int, to_ms: int
    ) -> Iterator[tuple[Windowed[K], V]]: ...

    def fetch_range(self, *keys_and_times: Any, **times: int) -> Iterator[tuple[Any, V]]:
        """Windows of one key, or of all keys of a range, that start from one time to another; all ends inclusive."""
        single = len(keys_and_times) + len(times) == 3
        found = [_without_timestamps(part, part.fetch_range(*keys_and_times, **times)) for part in self._parts]
        return merge(*found, key=itemgetter(0) if single else self._order)

    def fetch_all(self, from_ms: int, to_ms: int) -> Iterator[tuple[Windowed[K], V]]:
        """Windows of all keys that start from one time to another, by serialized key, then start."""
        return merge(
            *(_without_timestamps(part, part.fetch_all(from_ms, to_ms)) for part in self._parts), key=self._order
        )

    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All windows, by serialized key, then start."""
        return merge(*(_without_timestamps(part, part.all()) for part in self._parts), key=self._order)

    def _order(self, entry: tuple[Windowed[K], V]) -> tuple[bytes | None, int]:
        windowed = entry[0]
        return self._parts[0].key_serde.serialize(windowed.key), windowed.window.start_ms


def _value_of(part: _Part[Any, Any]) -> Callable[[Any], Any]:
    return itemgetter(0) if isinstance(part, TypedTimestampedWindowStore) else lambda value: value


def _without_timestamps(part: _Part[Any, Any], entries: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    value_of = _value_of(part)
    return ((shown, value_of(stored)) for shown, stored in entries)
