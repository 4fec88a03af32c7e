"""The base of windowed aggregations: stream time, late records, results held back until their window closes."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from headrace._core.drop_reasons import DropReason
from headrace._core.laws import closes_at, last_closed_end, last_closed_start, latest
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.aggregations.count_and_reduce import Fold
from headrace._core.task.context import TaskContext
from headrace._core.time.idle_keys import IdleKeys, IdleSettings
from headrace._core.time.open_windows import ClosedWindow, OpenWindows
from headrace._core.time.stream_time import stream_time
from headrace._state.bytes.composite import MAX_TIME
from headrace._state.layouts.entries_by_key import remove_key
from headrace.model.pending import PendingTask
from headrace.model.record import Change, Record
from headrace.model.time.windows import AnyWindows, Window, Windowed

W = TypeVar("W", bound=AnyWindows)

_log = logging.getLogger(__name__)


class WindowSettings(NamedTuple):
    """The settings of a windowed aggregation besides its windows: its stores, and the child that gets late records.

    `key_times` is `None` if all keys share one stream time. `open_windows` is `None` if results do not wait until their
    window closes. `cached` says whether results go to the record cache, which needs the old value of every change.
    """

    store: str
    stream_times: str
    key_times: str | None
    open_windows: str | None
    late_sink: str | None
    idle: IdleSettings | None
    send_old_values: bool
    cached: bool


class WindowedOperator(Operator, Generic[W]):
    """Advances stream time to each record, then folds the record into its windows. A subclass defines `_fold`."""

    def __init__(self, name: str, settings: WindowSettings, windows: W, fold: Fold) -> None:
        super().__init__(name)
        self.settings = settings
        self.windows = windows
        self._wait_ms = windows.wait_ms
        self._end_included = windows.end_included
        self._initializer = fold.initializer
        self._aggregator = fold.aggregator
        self._late: Operator | None = None
        self._expires_windows = False

    def connect(self, children: Sequence[Operator]) -> None:
        late = self.settings.late_sink
        self._late = next((child for child in children if child.name == late), None)
        super().connect([child for child in children if child is not self._late])

    def init(self, context: TaskContext) -> None:
        super().init(context)
        settings = self.settings
        self._store = store = context.store(settings.store)
        self.time = stream_time(context, self.name, settings.stream_times, settings.key_times)
        if settings.idle is not None and settings.key_times is not None:
            self.idle = IdleKeys(context, settings.idle, settings.key_times)
        self._open = None
        if settings.open_windows is not None:
            results = context.store(settings.open_windows)
            self._open = OpenWindows(results, store.key_serde, store.value_serde, by_key=self.time.by_key)

    def process(self, record: AnyRecord) -> None:
        if record.key is None:
            self.context.drop(self.name, DropReason.NULL_KEY)
            return
        assert record.timestamp_ms is not None
        if self.idle is not None:
            self.idle.see(record.key)
        before_ms = self.time.current(record.key) if self._expires_windows else -1
        time_ms = self.time.advance(record.key, record.timestamp_ms)
        try:
            self._fold(record, record.key, record.timestamp_ms, time_ms)
        finally:
            # Stream time has advanced, even if an error handler then drops the record.
            if 0 <= before_ms < time_ms:
                self._expire(record.key, before_ms, time_ms)

    @abstractmethod
    def _fold(self, record: AnyRecord, key: Any, timestamp_ms: int, time_ms: int) -> None:
        """Folds a record into those of its windows that are open at stream time `time_ms`."""

    def _expire(self, key: Any, before_ms: int, time_ms: int) -> None:
        """Deletes the windows of a key that expire when its stream time advances from `before_ms` to `time_ms`.

        Called only if the store does not do so by itself.
        """

    def close_idle(self) -> None:
        """Emits the results that are held back for idle keys, and deletes these keys with their windows."""
        assert self.idle is not None
        finals: list[tuple[Window, bytes, ClosedWindow]] = []
        for key, key_bytes in self.idle.remove_idle():
            if self._open is not None:
                closed = self._open.remove_closed(key, MAX_TIME)
                finals += [(final.windowed.window, key_bytes, final) for final in closed]
            remove_key(self._store.contents, key_bytes)
        finals.sort(key=lambda final: (final[0].end_ms, final[0].start_ms, final[1]))
        for _, _, (windowed, value, timestamp_ms) in finals:
            self.forward(Record(windowed, Change(value, None), timestamp_ms))

    def _last_closed_end(self, time_ms: int) -> int:
        return last_closed_end(time_ms, self._wait_ms, end_included=self._end_included)

    def _last_closed_start(self, time_ms: int, size_ms: int) -> int:
        return last_closed_start(time_ms, size_ms, self._wait_ms, end_included=self._end_included)

    def _closes_at(self, window: Window) -> int | None:
        return closes_at(window.end_ms, self._wait_ms, end_included=self._end_included)

    def pending(self) -> PendingTask | None:
        if self._open is None:
            return None
        task_id, oldest = self.context.task_id, self._open.oldest()
        if oldest is None:
            return PendingTask(task_id, waiting=0, stream_time_ms=-1 if self.time.by_key else self.time.current(None))
        return PendingTask(
            task_id,
            self._open.count(),
            oldest,
            since_ms=oldest.window.end_ms,
            release_ms=self._closes_at(oldest.window),
            release_key=oldest.key if self.time.by_key else None,
            stream_time_ms=self.time.current(oldest.key),
        )

    def _update(self, window: Window, record: AnyRecord, key: Any, timestamp_ms: int) -> None:
        """Folds a record into the aggregate of one window, and emits the result."""
        store, start_ms = self._store, window.start_ms
        row = store.fetch(key, start_ms)
        new, result_ms = self._aggregate(key, record.value, timestamp_ms, row)
        # The aggregator may have changed the aggregate in place, so the old value is read again.
        old = store.fetch(key, start_ms)[0] if self.settings.send_old_values and row is not None else None
        store.put(key, new, start_ms, result_ms)
        self._emit(record, window, Change(new, old), result_ms)

    def _aggregate(self, key: Any, value: Any, timestamp_ms: int, row: tuple[Any, int] | None) -> tuple[Any, int]:
        """Returns the aggregate of a window after a record, and its timestamp: that of its latest record (KIP-259).

        `row` is the aggregate before the record and its timestamp; `None` if the window is new.
        """
        if row is None:
            return self._aggregator(key, value, self._initializer()), timestamp_ms
        return self._aggregator(key, value, row[0]), latest(timestamp_ms, row[1])

    def _emit(self, record: AnyRecord, window: Window, change: Change[Any], timestamp_ms: int) -> None:
        """Forwards a new result of a window, or holds it back until the window closes."""
        windowed = Windowed(record.key, window)
        if self._open is None:
            self.forward(Record(windowed, change, timestamp_ms, record.headers))
        else:
            self._open.put(windowed, change.new, timestamp_ms)

    def _emit_closed(self, record: AnyRecord, last_end_ms: int) -> None:
        """Forwards the results of windows that end no later than `last_end_ms`, with the headers of the record.

        The record has advanced stream time, and `last_end_ms` takes the grace into account. Call this before the record
        is folded in, so that no window expires before its result is emitted.
        """
        if self._open is not None:
            for windowed, value, timestamp_ms in self._open.remove_closed(record.key, last_end_ms):
                self.forward(Record(windowed, Change(value, None), timestamp_ms, record.headers))

    def _drop_late(self, record: AnyRecord, window: Window, time_ms: int) -> None:
        """Counts a record that is late for a closed window, and forwards it to the child for late records."""
        close_ms = self._closes_at(window)
        self.context.drop(self.name, DropReason.LATE)
        _log.info(
            "%s: the record of key %r at %d is late for window [%s]: it closed at %s, stream time is %d.",
            self.name,
            record.key,
            record.timestamp_ms,
            window,
            close_ms,
            time_ms,
        )
        if self._late is not None:
            details = {
                "headrace.window.start": window.start_ms,
                "headrace.window.end": window.end_ms,
                "headrace.window.close": close_ms,
                "headrace.stream.time": time_ms,
            }
            headers = (*record.headers, *((name, str(value).encode()) for name, value in details.items()))
            self._late.process(Record(record.key, record.value, record.timestamp_ms, headers))
