"""count, reduce and aggregate in time windows: tumbling, hopping, unlimited."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord
from headrace._core.operators.windows.windowed_operator import WindowedOperator
from headrace._core.task.context import TaskContext
from headrace._core.time.stream_time import KeyAdvances
from headrace._state.layouts.retention_clocks import last_expired_ms
from headrace.model.time.windows import TimeWindows, UnlimitedWindows, last_start, sized_window


class TimeWindowAggregate(WindowedOperator[TimeWindows | UnlimitedWindows]):
    """Folds each record into every open window that contains its timestamp, by ascending start."""

    def _fold(self, record: AnyRecord, key: Any, timestamp_ms: int, time_ms: int) -> None:
        windows = self.windows
        self._emit_closed(record, self._last_closed_end(time_ms))
        last_closed_ms = self._last_closed_start(time_ms, windows.size_ms)
        starts = windows.starts_for(timestamp_ms)
        if not starts:
            self.context.drop(self.name, DropReason.BEFORE_FIRST_WINDOW)
        for start_ms in starts:
            window = sized_window(start_ms, windows.size_ms)
            if start_ms <= last_closed_ms:
                self._drop_late(record, window, time_ms)
                continue
            self._update(window, record, key, timestamp_ms)

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._expires_windows = self._store.caller_expires

    def _expire(self, key: Any, before_ms: int, time_ms: int) -> None:
        first, last = self._last_expired_start(before_ms) + 1, self._last_expired_start(time_ms)
        self._expire_spans([(self._store.key_bytes(key), first, last)])

    def expire_many(self, advances: KeyAdvances) -> None:
        """Expires windows of many keys after a batch is stored, as `_expire` does for one key after a record.

        A new key has no windows before its lowest timestamp of the batch.
        """
        if not self._expires_windows:
            return
        next_expired = self._last_expired_start(advances.before) + 1
        first = np.where(advances.before < 0, last_start(advances.lowest, self._advance_ms), next_expired)
        last = self._last_expired_start(advances.after)
        rows = np.flatnonzero(last >= np.maximum(first, 0)).tolist()
        self._expire_spans([(advances.keys[row], int(first[row]), int(last[row])) for row in rows])

    def _expire_spans(self, spans: list[tuple[bytes, int, int]]) -> None:
        due = [span for span in spans if span[2] >= max(span[1], 0)]
        if due:
            self._store.expire(due, self._advance_ms)

    def _last_expired_start(self, time_ms: Any) -> Any:
        """The latest start of the windows that are expired at stream time `time_ms`."""
        return last_expired_ms(last_start(time_ms, self._advance_ms), self._store.clock.retention_ms)

    @property
    def _advance_ms(self) -> int:
        assert isinstance(self.windows, TimeWindows)
        return self.windows.advance_ms


class TimeWindowCount(TimeWindowAggregate):
    """Counts in time windows; a class of its own because counting has a batch form."""
