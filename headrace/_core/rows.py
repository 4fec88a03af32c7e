"""The rows of a table, for operators that look them up: read from its store, or computed from the tables before it.

A row is a value and a timestamp; `None` means that there is no row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from headrace._core.laws import latest
from headrace._state.stores.session import TypedSessionStore
from headrace._state.stores.suppress_buffer import SuppressBuffer
from headrace._state.stores.versioned import TypedVersionedStore
from headrace._state.stores.window import TypedTimestampedWindowStore
from headrace.model.record import Record
from headrace.model.time.windows import Windowed

Row = tuple[Any, int]

_UNKNOWN_MS = -1


class Rows(Protocol):
    """Looks up current rows by key. Stores with timestamps have this method too."""

    def get(self, key: Any, /) -> Row | None: ...


def row_for(rows: Any, record: Record[Any, Any], *, versioned: bool) -> Row | None:
    """The row of the record's key: the current row, or if `versioned` the row as of the record's timestamp."""
    if record.key is None:
        return None
    row: Row | None = rows.get_as_of(record.key, record.timestamp_ms) if versioned else rows.get(record.key)
    return row


class VersionedRows:
    """The rows of a versioned table."""

    def __init__(self, store: TypedVersionedStore[Any, Any]) -> None:
        self._store = store

    def get(self, key: Any) -> Row | None:
        version = self._store.get(key)
        return None if version is None else version[:2]

    def get_as_of(self, key: Any, as_of_ms: int) -> Row | None:
        version = self._store.row_as_of(key, as_of_ms)
        return None if version is None else version[:2]

    def put(self, key: Any, value: Any, timestamp_ms: int) -> int:
        return self._store.put(key, value, timestamp_ms)


class DerivedRows:
    """The rows of a table filter or of `map_values`, computed from the rows of the table before it.

    `derive(key, value)` returns the value of the new row, or `None` if there is none.
    """

    def __init__(self, rows: Any, derive: Callable[[Any, Any], Any]) -> None:
        self._rows = rows
        self._derive = derive

    def get(self, key: Any) -> Row | None:
        return self._derive_row(key, self._rows.get(key))

    def get_as_of(self, key: Any, as_of_ms: int) -> Row | None:
        return self._derive_row(key, self._rows.get_as_of(key, as_of_ms))

    def _derive_row(self, key: Any, row: Row | None) -> Row | None:
        if row is None:
            return None
        value, timestamp_ms = row
        derived = self._derive(key, value)
        return None if derived is None else (derived, timestamp_ms)


class JoinedRows:
    """The rows of a join of two tables, computed from the rows of both. The row of an optional side may be missing."""

    def __init__(
        self,
        left: Rows,
        right: Rows,
        joiner: Callable[[Any, Any, Any], Any],
        *,
        left_optional: bool,
        right_optional: bool,
    ) -> None:
        self._left = left
        self._right = right
        self._joiner = joiner
        self._left_optional = left_optional
        self._right_optional = right_optional

    def get(self, key: Any) -> Row | None:
        left, right = self._left.get(key), self._right.get(key)
        if left is None and (right is None or not self._left_optional):
            return None
        if right is None and not self._right_optional:
            return None
        left_value, left_ms = left or (None, _UNKNOWN_MS)
        right_value, right_ms = right or (None, _UNKNOWN_MS)
        value = self._joiner(key, left_value, right_value)
        return None if value is None else (value, latest(left_ms, right_ms))


class SuppressedRows:
    """The rows as seen downstream of `suppress()`. A row that is buffered still has the value that was last emitted."""

    def __init__(self, buffer: SuppressBuffer[Any, Any], rows: Rows) -> None:
        self._buffer = buffer
        self._rows = rows

    def get(self, key: Any) -> Row | None:
        buffered = self._buffer.get(key)
        if buffered is None:
            return self._rows.get(key)
        return None if buffered.prior is None else (buffered.prior, _UNKNOWN_MS)


class WindowRows:
    """The rows of a windowed aggregation, by windowed key."""

    def __init__(self, store: TypedTimestampedWindowStore[Any, Any]) -> None:
        self._store = store

    def get(self, key: Windowed[Any]) -> Row | None:
        return self._store.fetch(key.key, key.window.start_ms)

    def put(self, key: Windowed[Any], value: Any, timestamp_ms: int) -> None:
        self._store.put(key.key, value, key.window.start_ms, timestamp_ms)


class SessionRows:
    """The rows of an aggregation in sessions, by windowed key; their timestamp is the end of the session."""

    def __init__(self, store: TypedSessionStore[Any, Any]) -> None:
        self._store = store

    def get(self, key: Windowed[Any]) -> Row | None:
        value = self._store.fetch_session(key.key, key.window.start_ms, key.window.end_ms)
        return None if value is None else (value, key.window.end_ms)

    def put(self, key: Windowed[Any], value: Any, timestamp_ms: int) -> None:  # noqa: ARG002
        self._store.put(key, value)
