"""What queries see of suppress buffers, over the buffers of all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Generic, NamedTuple, TypeVar

from headrace._state.stores.suppress_buffer import BufferedRow, SuppressBuffer
from headrace._suggestions.attributes import suggest_attributes

K = TypeVar("K")
V = TypeVar("V")


class WaitingRow(NamedTuple, Generic[K, V]):
    """A buffered row: its last update with its timestamp, and its buffer time, both in epoch milliseconds.

    The buffer time is the end of the row's window if the table is suppressed until windows close. With a time limit, it
    is the timestamp of the first buffered update.
    """

    key: K
    value: V | None
    timestamp_ms: int
    buffer_time_ms: int


@suggest_attributes
class SuppressBufferView(Generic[K, V]):
    """Read-only access to a committed suppress buffer, as `app.store()` returns it.

    Example:
        >>> from headrace import Change, Record, serdes
        >>> from headrace._state.bytes.memory import MemoryStore
        >>> buffer = SuppressBuffer(MemoryStore(), serdes.String(), serdes.Long())
        >>> buffer.put(Record("bern", Change(3, None), 12), 12, topic="in")
        >>> view = SuppressBufferView([buffer])
        >>> view.get("bern"), view.num_rows(), view.oldest()
        (WaitingRow(key='bern', value=3, timestamp_ms=12, buffer_time_ms=12), 1, ('bern', 12))
    """

    def __init__(self, parts: Sequence[SuppressBuffer[K, V]]) -> None:
        self._parts = tuple(parts)

    def get(self, key: K) -> WaitingRow[K, V] | None:
        """The buffered row of a key, or `None`."""
        found = (part.get(key) for part in self._parts)
        return next((_to_waiting_row(row) for row in found if row is not None), None)

    def all(self) -> Iterator[WaitingRow[K, V]]:
        """All buffered rows, by buffer time, then serialized key."""
        rows = merge(*(part.all() for part in self._parts), key=lambda row: self._order(row.key, row.buffer_time_ms))
        return map(_to_waiting_row, rows)

    def num_rows(self) -> int:
        """The number of buffered rows, in constant time."""
        return sum(part.usage().records for part in self._parts)

    def num_bytes(self) -> int:
        """The size of the buffered rows, as `BufferConfig.max_bytes` counts it."""
        return sum(part.usage().bytes for part in self._parts)

    def oldest(self) -> tuple[K, int] | None:
        """Key and buffer time of the oldest row, in constant time; `None` if no row is buffered."""
        found = [first for part in self._parts if (first := part.oldest()) is not None]
        return min(found, key=lambda first: self._order(*first), default=None)

    def _order(self, key: K, buffer_time_ms: int) -> tuple[int, bytes]:
        return buffer_time_ms, self._parts[0].key_bytes(key)


def _to_waiting_row(row: BufferedRow[K, V]) -> WaitingRow[K, V]:
    return WaitingRow(row.key, row.value, row.timestamp_ms, row.buffer_time_ms)
