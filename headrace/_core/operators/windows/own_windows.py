"""count, reduce and aggregate in windows of the user's own."""

from __future__ import annotations

from typing import Any

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord
from headrace._core.operators.windows.windowed_operator import WindowedOperator
from headrace.errors import StreamsError
from headrace.model.time.windows import Window, Windows


class OwnWindowAggregate(WindowedOperator[Windows]):
    """Folds each record into every open window that `Windows.windows_for` returns for its timestamp, in that order.

    As in Kafka Streams, a window is closed by its own end, however long it is.
    """

    def _fold(self, record: AnyRecord, key: Any, timestamp_ms: int, time_ms: int) -> None:
        last_closed_ms = self._last_closed_end(time_ms)
        self._emit_closed(record, last_closed_ms)
        windows = self._windows_for(timestamp_ms)
        if not windows:
            self.context.drop(self.name, DropReason.IN_NO_WINDOW)
        for window in windows:
            if window.end_ms <= last_closed_ms:
                self._drop_late(record, window, time_ms)
                continue
            self._update(window, record, key, timestamp_ms)

    def _windows_for(self, timestamp_ms: int) -> list[Window]:
        """The user's windows for a timestamp. Raises an error for windows that would lose results."""
        windows = list(self.windows.windows_for(timestamp_ms))
        for window in windows:
            if not isinstance(window, Window) or not window.start_ms <= timestamp_ms < window.end_ms:
                self._refuse(timestamp_ms, window, f"a Window with start_ms <= {timestamp_ms} < end_ms")
            if window.end_ms - window.start_ms > self.windows.size_ms:
                self._refuse(timestamp_ms, window, f"no longer than size_ms, {self.windows.size_ms}")
        if len({window.start_ms for window in windows}) < len(windows):
            self._refuse(timestamp_ms, windows, "windows with different starts")
        return windows

    def _refuse(self, timestamp_ms: int, returned: object, required: str) -> None:
        message = f"{self.windows!r}.windows_for({timestamp_ms}) returned {returned!r}; required: {required}."
        raise StreamsError(message)
