"""count, reduce and aggregate in time windows: tumbling, hopping, unlimited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace._core.laws import latest
from headrace._core.operator import AnyRecord
from headrace._core.operators.windows.windowed_operator import WindowedOperator, WindowSettings
from headrace._core.task.context import TaskContext
from headrace._core.time.stream_time import Moves
from headrace.model.record import Change
from headrace.model.windows import TimeWindows, UnlimitedWindows, Window


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
        super().__init__(name, settings, windows, initializer, aggregator)
        self.windows = windows

    def _fold(self, record: AnyRecord, key: Any, timestamp_ms: int, time_ms: int) -> None:
        windows, store = self.windows, self._store
        closed_ms = self._last_closed_end(time_ms)
        self._write_closed(record, closed_ms)
        starts = windows.starts_for(timestamp_ms)
        if not starts:
            self.context.drop(self.name, "before the first window")
        for start_ms in starts:
            end_ms = start_ms + windows.size_ms
            if end_ms <= closed_ms:
                self._drop_late(record, Window(start_ms, end_ms), time_ms)
                continue
            row = store.fetch(key, start_ms)
            base, result_ms = (self._initializer(), timestamp_ms) if row is None else row
            new = self._aggregator(key, record.value, base)
            # The aggregator may have changed the aggregate in place: what it was is read anew.
            old = store.fetch(key, start_ms)[0] if self.settings.send_old_values and row is not None else None
            result_ms = latest(timestamp_ms, result_ms)
            store.put(key, new, start_ms, result_ms)
            self._result(record, Window(start_ms, end_ms), Change(new, old), result_ms)

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._tells = self._store.told

    def _forget(self, key: Any, before_ms: int, time_ms: int) -> None:
        self._forget_spans([(self._store.key_bytes(key), self._oldest_ms(before_ms) + 1, self._oldest_ms(time_ms))])

    def forget_many(self, moves: Moves) -> None:
        """What `_forget` does for many keys, after all their windows of a batch are put."""
        if not self._tells:
            return
        known = self._oldest_ms(moves.before) + 1
        first = np.where(moves.before < 0, moves.lowest - moves.lowest % self._advance_ms, known)
        last = self._oldest_ms(moves.after)
        rows = np.flatnonzero(last >= np.maximum(first, 0)).tolist()
        self._forget_spans([(moves.keys[row], int(first[row]), int(last[row])) for row in rows])

    def _forget_spans(self, spans: list[tuple[bytes, int, int]]) -> None:
        found = [span for span in spans if span[2] >= max(span[1], 0)]
        if found:
            self._store.forget(found, self._advance_ms)

    def _oldest_ms(self, time_ms: Any) -> Any:
        """The last start of a window that is expired at a time."""
        return time_ms - time_ms % self._advance_ms - self._store.clock.retention_ms

    @property
    def _advance_ms(self) -> int:
        assert isinstance(self.windows, TimeWindows)
        return self.windows.advance_ms


class TimeWindowCount(TimeWindowAggregate):
    """The same, known to do nothing but count: it has a batch form."""
