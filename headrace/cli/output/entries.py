"""What `headrace store` prints of an entry, by the kind of store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace._state.bytes.composite import MAX_TIME
from headrace._state.views.key_value import ReadOnlyKeyValueStore, ReadOnlyTimestampedStore
from headrace._state.views.session import ReadOnlySessionStore
from headrace._state.views.suppress import ReadOnlySuppressBuffer
from headrace._state.views.unmatched import ReadOnlyUnmatchedStore
from headrace._state.views.versioned import ReadOnlyVersionedStore
from headrace._state.views.window import ReadOnlyWindowStore
from headrace.cli.output.values import shown, shown_time
from headrace.model.pending import PendingTask
from headrace.model.windows import Windowed

_WithTimestamp = ReadOnlyTimestampedStore[Any, Any] | ReadOnlyVersionedStore[Any, Any]
_ByKey = ReadOnlyKeyValueStore[Any, Any] | _WithTimestamp

_WINDOWED = ("key", "window start (UTC)", "window end (UTC)", "value")
_UNMATCHED = ("key", "value", "timestamp (UTC)", "side")
_WAITING = ("key", "value", "timestamp (UTC)", "buffer time (UTC)")

PENDING = ("task", "waiting", "oldest", "leaves with a record at (UTC)", "of key", "stream time (UTC)")


class Listing(NamedTuple):
    """The entries of a store or of one of its keys, and how to print one."""

    columns: tuple[str, ...]
    entries: Sequence[tuple[Any, ...]]
    row: Callable[..., tuple[str, ...]]


def listing(view: Any, key: Any | None) -> Listing:
    """All entries, or those of one key."""
    match view:
        case ReadOnlyWindowStore():
            windows = view.all() if key is None else view.fetch_range(key, key, 0, MAX_TIME)
            return Listing(_WINDOWED, list(windows), _windowed)
        case ReadOnlySessionStore():
            return Listing(_WINDOWED, list(view.all() if key is None else view.fetch(key)), _windowed)
        case ReadOnlySuppressBuffer():
            rows = [row for row in view.all() if key is None or shown(_without_window(row.key)) == shown(key)]
            return Listing(_WAITING, rows, _waiting)
        case ReadOnlyUnmatchedStore():
            records = [record for record in view.all() if key is None or shown(record.key) == shown(key)]
            return Listing(_UNMATCHED, records, _unmatched)
        case ReadOnlyTimestampedStore() | ReadOnlyVersionedStore():
            return Listing(("key", "value", "timestamp (UTC)"), _by_key(view, key), _timestamped(view))
    return Listing(("key", "value"), _by_key(view, key), lambda key, value: (shown(key), shown(value)))


def _by_key(view: _ByKey, key: Any | None) -> list[tuple[Any, Any]]:
    if key is None:
        return list(view.all())
    value = view.get(key)
    return [] if value is None else [(key, value)]


def _windowed(windowed: Windowed[Any], value: Any) -> tuple[str, ...]:
    window = windowed.window
    return shown(windowed.key), shown_time(window.start_ms), shown_time(window.end_ms), shown(value)


def _waiting(key: Any, value: Any, timestamp_ms: int, buffer_time_ms: int) -> tuple[str, ...]:
    return _named(key), shown(value), shown_time(timestamp_ms), shown_time(buffer_time_ms)


def _unmatched(key: Any, value: Any, timestamp_ms: int, is_left: bool) -> tuple[str, ...]:
    return _named(key), shown(value), shown_time(timestamp_ms), "left" if is_left else "right"


def pending_row(task: PendingTask) -> tuple[str, ...]:
    """What one task holds back, in the columns of `PENDING`."""
    time = shown_time(task.stream_time_ms) if task.stream_time_ms >= 0 else ""
    if task.release_ms is None:
        return task.task_id, "0", "", "", "", time
    key = "any" if task.release_key is None else shown(task.release_key)
    return task.task_id, f"{task.waiting:,}", _named(task.oldest), shown_time(task.release_ms), key, time


def _named(key: Any) -> str:
    return str(key) if isinstance(key, Windowed) else shown(key)


def _without_window(key: Any) -> Any:
    return key.key if isinstance(key, Windowed) else key


def _timestamped(view: _WithTimestamp) -> Callable[[Any, Any], tuple[str, ...]]:
    def row(key: Any, value: Any) -> tuple[str, ...]:
        found = view.get_with_timestamp(key)
        return shown(key), shown(value), "" if found is None else shown_time(found.timestamp_ms)

    return row
