"""count, reduce and aggregate in sessions."""

from __future__ import annotations

from typing import Any

from headrace._core.operator import AnyRecord
from headrace._core.operators.aggregations.count_and_reduce import Fold
from headrace._core.operators.windows.windowed_operator import WindowedOperator, WindowSettings
from headrace.model.record import Change, Record
from headrace.model.time.end_of_time import later
from headrace.model.time.windows import SessionWindows, Window, Windowed


class SessionWindowAggregate(WindowedOperator[SessionWindows]):
    """Merges each record and the sessions within the gap around it into one session.

    The merged sessions are deleted first. The timestamp of a result or a deletion is the end of its session.
    """

    def __init__(self, name: str, settings: WindowSettings, windows: SessionWindows, fold: Fold) -> None:
        super().__init__(name, settings, windows, fold)
        assert fold.merger is not None
        self._merger = fold.merger

    def _fold(self, record: AnyRecord, key: Any, timestamp_ms: int, time_ms: int) -> None:
        gap_ms, closed_ms = self.windows.gap_ms, self._last_closed_end(time_ms)
        self._emit_closed(record, closed_ms)
        aggregate, start_ms, end_ms = self._initializer(), timestamp_ms, timestamp_ms
        sessions = list(self._store.find_sessions(key, timestamp_ms - gap_ms, later(timestamp_ms, gap_ms)))
        for session, value in sessions:
            aggregate = self._merger(key, aggregate, value)
            start_ms, end_ms = min(start_ms, session.window.start_ms), max(end_ms, session.window.end_ms)
        merged = Window(start_ms, end_ms)
        if end_ms <= closed_ms:
            self._drop_late(record, merged, time_ms)
            return
        if start_ms < end_ms:
            for session, _ in sessions:
                self._delete(record, session)
        aggregate = self._aggregator(key, record.value, aggregate)
        old = self._store.fetch_session(key, start_ms, end_ms) if self.settings.cached else None
        self._store.put(Windowed(key, merged), aggregate)
        self._emit(record, merged, Change(aggregate, old), end_ms)

    def _delete(self, record: AnyRecord, session: Windowed[Any]) -> None:
        # The merger may have changed the aggregate in place, so the old value is read again.
        window = session.window
        old = self._store.fetch_session(session.key, window.start_ms, window.end_ms)
        self._store.remove(session)
        if self._open is not None:
            self._open.remove(session)
        else:
            self.forward(Record(session, Change(None, old), window.end_ms, record.headers))
