"""count, reduce and aggregate in time windows: tumbling, hopping, unlimited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord
from headrace._core.operators.windowed_operator import WindowedOperator, WindowSettings
from headrace._core.timestamps import latest
from headrace.change import Change
from headrace.windowing import TimeWindows, UnlimitedWindows
from headrace.windows import Window


class TimeWindowAggregate(WindowedOperator):
    """Folds a record into every window its timestamp is in, by ascending start; a closed window takes no more."""

    def __init__(
        self,
        name: str,
        settings: WindowSettings,
        windows: TimeWindows | UnlimitedWindows,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
    ) -> None:
        super().__init__(name, settings, initializer, aggregator)
        self.windows = windows

    def _fold(self, record: AnyRecord, key: Any, timestamp_ms: int, time_ms: int) -> None:
        windows, store = self.windows, self._store
        closed_ms = time_ms - windows.grace_ms
        self._write_closed(record, closed_ms)
        starts = windows.starts_for(timestamp_ms)
        if not starts:
            self.context.drop(self.name, "before the first window")
        for start_ms in starts:
            end_ms = start_ms + windows.size_ms
            if end_ms <= closed_ms:
                window = Window(start_ms, end_ms)
                self._drop_late(record, window, self._closes_at_ms(window), time_ms)
                continue
            row = store.fetch(key, start_ms)
            base, result_ms = (self._initializer(), timestamp_ms) if row is None else row
            new = self._aggregator(key, record.value, base)
            # The aggregator may have changed the aggregate in place: what it was is read anew.
            old = store.fetch(key, start_ms)[0] if self.settings.send_old_values and row is not None else None
            result_ms = latest(timestamp_ms, result_ms)
            store.put(key, new, start_ms, result_ms)
            self._result(record, Window(start_ms, end_ms), Change(new, old), result_ms)

    def _closes_at_ms(self, window: Window) -> int:
        return window.end_ms + self.windows.grace_ms


class TimeWindowCount(TimeWindowAggregate):
    """The same, known to do nothing but count: it has a batch form."""
