"""What queries see of window stores, over the stores of all tasks: values, with timestamps and headers on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any, ClassVar, Generic, TypeVar, overload

from headrace._state.stores.window import (
    BaseWindowStore,
    TypedTimestampedWindowStore,
    TypedWindowStore,
    TypedWindowStoreWithHeaders,
)
from headrace._state.views.shown import ShownReads, value_and_timestamp
from headrace.model.stores.interfaces import ValueAndTimestamp, ValueTimestampHeaders
from headrace.model.time.windows import Windowed

K = TypeVar("K")
V = TypeVar("V")

_Timestamped = TypedTimestampedWindowStore[K, V] | TypedWindowStoreWithHeaders[K, V]


class _WindowReads(ShownReads[BaseWindowStore[K, Any], V], Generic[K, V]):
    """Reads of window stores. At most one of `parts` has windows of a key; each has its own clock."""

    _public_name: ClassVar[str] = "ReadOnlyWindowStore"

    @overload
    def fetch(self, key: K, start_ms: int, /) -> V | None: ...

    @overload
    def fetch(self, key: K, from_ms: int, to_ms: int) -> Iterator[tuple[int, V]]: ...

    def fetch(self, key: K, from_ms: int, to_ms: int | None = None) -> V | Iterator[tuple[int, V]] | None:
        """The value of the window that starts at a time, or `None`.

        With two times, yields start and value of all windows that start between them, both inclusive.
        """
        if to_ms is not None:
            return self._of_one_key([part.fetch(key, from_ms, to_ms) for part in self._parts])
        return self._first(part.fetch(key, from_ms) for part in self._parts)

    def backward_fetch(self, key: K, from_ms: int, to_ms: int) -> Iterator[tuple[int, V]]:
        """The windows of a key that start between two times, both inclusive, from the last to the first."""
        return self._of_one_key([part.backward_fetch(key, from_ms, to_ms) for part in self._parts], reverse=True)

    @overload
    def fetch_range(self, key: K, /, from_ms: int, to_ms: int) -> Iterator[tuple[int, V]]: ...

    @overload
    def fetch_range(
        self, from_key: K | None, to_key: K | None, /, from_ms: int, to_ms: int
    ) -> Iterator[tuple[Windowed[K], V]]: ...

    def fetch_range(self, *keys_and_times: Any, **times: int) -> Iterator[tuple[Any, V]]:
        """Windows of one key, or of all keys of a range, that start between two times; all ends are inclusive."""
        found = [part.fetch_range(*keys_and_times, **times) for part in self._parts]
        return self._of_one_key(found) if len(keys_and_times) + len(times) == 3 else self._of_keys(found)

    def backward_fetch_range(
        self, from_key: K | None, to_key: K | None, from_ms: int, to_ms: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """The windows that `fetch_range` yields for a range of keys, from the last to the first."""
        found = [part.backward_fetch_range(from_key, to_key, from_ms, to_ms) for part in self._parts]
        return self._of_keys(found, reverse=True)

    def fetch_all(self, from_ms: int, to_ms: int) -> Iterator[tuple[Windowed[K], V]]:
        """Windows of all keys that start between two times, both inclusive, by serialized key, then start."""
        return self._of_keys([part.fetch_all(from_ms, to_ms) for part in self._parts])

    def backward_fetch_all(self, from_ms: int, to_ms: int) -> Iterator[tuple[Windowed[K], V]]:
        """The windows of `fetch_all`, from the last to the first."""
        return self._of_keys([part.backward_fetch_all(from_ms, to_ms) for part in self._parts], reverse=True)

    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All windows, by serialized key, then start."""
        return self._of_keys([part.all() for part in self._parts])

    def backward_all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All windows, from the last to the first."""
        return self._of_keys([part.backward_all() for part in self._parts], reverse=True)

    def _of_one_key(
        self, found: Sequence[Iterator[tuple[int, Any]]], *, reverse: bool = False
    ) -> Iterator[tuple[int, V]]:
        return self._shown(merge(*found, key=itemgetter(0), reverse=reverse))

    def _of_keys(
        self, found: Sequence[Iterator[tuple[Windowed[K], Any]]], *, reverse: bool = False
    ) -> Iterator[tuple[Windowed[K], V]]:
        return self._shown(merge(*found, key=self._order, reverse=reverse))

    def _order(self, entry: tuple[Windowed[K], Any]) -> tuple[bytes | None, int]:
        windowed = entry[0]
        return self._parts[0].key_serde.serialize(windowed.key), windowed.window.start_ms


class WindowView(_WindowReads[K, V]):
    """Read-only access to a committed window store, as `app.store()` returns it."""

    def __init__(self, parts: Sequence[TypedWindowStore[K, V]]) -> None:
        super().__init__(parts, None)


class TimestampedWindowView(_WindowReads[K, V]):
    """Read-only access to a committed window store with timestamps: reads return just the values.

    Example:
        >>> from headrace import serdes
        >>> from headrace._state.layouts.retention_clocks import StoreClock
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> contents = MemoryStore()
        >>> clock = StoreClock(contents, retention_ms=20)
        >>> store = TypedTimestampedWindowStore(contents, clock, serdes.String(), serdes.Long(), window_size_ms=10)
        >>> store.put("bern", 3, 0, 7)
        >>> view = TimestampedWindowView([store])
        >>> view.fetch("bern", 0), [(str(windowed), value) for windowed, value in view.all()]
        (3, [('[bern@0/10]', 3)])
        >>> view.with_timestamps().fetch("bern", 0)
        ValueAndTimestamp(value=3, timestamp_ms=7)
    """

    _public_name: ClassVar[str] = "ReadOnlyTimestampedWindowStore"

    def __init__(self, parts: Sequence[_Timestamped[K, V]]) -> None:
        super().__init__(parts, itemgetter(0))

    def with_timestamps(self) -> _WindowReads[K, ValueAndTimestamp[V]]:
        """The same store, with reads that return values with their timestamps."""
        return _WindowReads(self._parts, value_and_timestamp)


class WindowViewWithHeaders(TimestampedWindowView[K, V]):
    """Read-only access to a committed window store with headers: reads return just the values."""

    _public_name: ClassVar[str] = "ReadOnlyTimestampedWindowStoreWithHeaders"

    def __init__(self, parts: Sequence[TypedWindowStoreWithHeaders[K, V]]) -> None:
        super().__init__(parts)

    def with_headers(self) -> _WindowReads[K, ValueTimestampHeaders[V]]:
        """The same store, with reads that return values with their timestamps and headers."""
        return _WindowReads(self._parts, None)
