"""What queries see of record buffers, over the buffers of all tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Generic, TypeVar

from headrace._state.stores.record_buffer import RecordBuffer
from headrace._suggestions.attributes import suggest_attributes
from headrace.model.record import Record

K = TypeVar("K")
V = TypeVar("V")


@suggest_attributes
class RecordBufferView(Generic[K, V]):
    """Read-only access to the committed records of a buffer, as `app.store()` returns it."""

    def __init__(self, parts: Sequence[RecordBuffer[K, V]]) -> None:
        self._parts = tuple(parts)

    def all(self) -> Iterator[Record[K, V]]:
        """All buffered records, by timestamp, then serialized key."""
        return merge(*(part.all() for part in self._parts), key=self._order)

    def num_records(self) -> int:
        """The number of buffered records, in constant time."""
        return sum(part.count() for part in self._parts)

    def _order(self, record: Record[K, V]) -> tuple[int, bytes]:
        assert record.timestamp_ms is not None
        return record.timestamp_ms, self._parts[0].key_bytes(record.key)
