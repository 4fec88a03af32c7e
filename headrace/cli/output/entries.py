"""The entries of a store as rows of a table, for each kind of store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace._state.bytes.composite import MAX_TIME
from headrace._state.views.key_value import KeyValueView, TimestampedKeyValueView
from headrace._state.views.session import SessionView, SessionViewWithHeaders
from headrace._state.views.suppress import SuppressBufferView
from headrace._state.views.unmatched import UnmatchedView
from headrace._state.views.versioned import VersionedView
from headrace._state.views.window import TimestampedWindowView, WindowView
from headrace.cli.output.values import format_time, format_value
from headrace.model.pending import PendingTask
from headrace.model.time.windows import Windowed

_WithTimestamp = TimestampedKeyValueView[Any, Any] | VersionedView[Any, Any]
_ByKey = KeyValueView[Any, Any] | _WithTimestamp

_WINDOWED = ("key", "window start (UTC)", "window end (UTC)", "value")
_UNMATCHED = ("key", "value", "timestamp (UTC)", "side")
_WAITING = ("key", "value", "timestamp (UTC)", "buffer time (UTC)")

PENDING = ("task", "pending", "oldest", "released by a record at (UTC)", "of key", "stream time (UTC)")


class Listing(NamedTuple):
    """Entries of a store, the columns of their table, and a function that converts an entry to a row."""

    columns: tuple[str, ...]
    entries: Sequence[tuple[Any, ...]]
    row: Callable[..., tuple[str, ...]]


def listing(view: Any, key: Any | None) -> Listing:
    """All entries of a store, or those of one key."""
    match view:
        case WindowView() | TimestampedWindowView():
            windows = view.all() if key is None else view.fetch_range(key, key, 0, MAX_TIME)
            return Listing(_WINDOWED, list(windows), _windowed)
        case SessionView() | SessionViewWithHeaders():
            return Listing(_WINDOWED, list(view.all() if key is None else view.fetch(key)), _windowed)
        case SuppressBufferView():
            rows = [
                row for row in view.all() if key is None or format_value(_without_window(row.key)) == format_value(key)
            ]
            return Listing(_WAITING, rows, _waiting)
        case UnmatchedView():
            records = [record for record in view.all() if key is None or format_value(record.key) == format_value(key)]
            return Listing(_UNMATCHED, records, _unmatched)
        case TimestampedKeyValueView() | VersionedView():
            return Listing(("key", "value", "timestamp (UTC)"), _by_key(view, key), _timestamped(view))
    return Listing(("key", "value"), _by_key(view, key), lambda key, value: (format_value(key), format_value(value)))


def _by_key(view: _ByKey, key: Any | None) -> list[tuple[Any, Any]]:
    if key is None:
        return list(view.all())
    value = view.get(key)
    return [] if value is None else [(key, value)]


def _windowed(windowed: Windowed[Any], value: Any) -> tuple[str, ...]:
    window = windowed.window
    return format_value(windowed.key), format_time(window.start_ms), format_time(window.end_ms), format_value(value)


def _waiting(key: Any, value: Any, timestamp_ms: int, buffer_time_ms: int) -> tuple[str, ...]:
    return _named(key), format_value(value), format_time(timestamp_ms), format_time(buffer_time_ms)


def _unmatched(key: Any, value: Any, timestamp_ms: int, is_left: bool) -> tuple[str, ...]:
    return _named(key), format_value(value), format_time(timestamp_ms), "left" if is_left else "right"


def pending_row(task: PendingTask) -> tuple[str, ...]:
    """Describes the results that one task holds back, as a row with the columns of `PENDING`."""
    time = format_time(task.stream_time_ms) if task.stream_time_ms >= 0 else ""
    if task.since_ms is None:
        return task.task_id, "0", "", "", "", time
    release = "never" if task.release_ms is None else format_time(task.release_ms)
    key = "any" if task.release_key is None else format_value(task.release_key)
    return task.task_id, f"{task.waiting:,}", _named(task.oldest), release, key, time


def _named(key: Any) -> str:
    return str(key) if isinstance(key, Windowed) else format_value(key)


def _without_window(key: Any) -> Any:
    return key.key if isinstance(key, Windowed) else key


def _timestamped(view: _WithTimestamp) -> Callable[[Any, Any], tuple[str, ...]]:
    def row(key: Any, value: Any) -> tuple[str, ...]:
        entry = view.get_with_timestamp(key)
        return format_value(key), format_value(value), "" if entry is None else format_time(entry.timestamp_ms)

    return row
