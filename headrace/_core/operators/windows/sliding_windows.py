"""count, reduce and aggregate in sliding windows."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace._core.drop_reasons import DropReason
from headrace._core.operator import AnyRecord
from headrace._core.operators.aggregations.count_and_reduce import Fold
from headrace._core.operators.windows.windowed_operator import WindowedOperator, WindowSettings
from headrace.model.record import Change
from headrace.model.time.windows import SlidingWindows, Window, sized_window


class _Row(NamedTuple):
    """An aggregate and the highest timestamp in it."""

    value: Any
    max_ms: int


class SlidingWindowAggregate(WindowedOperator[SlidingWindows]):
    """Folds each record into sliding windows: one ends at each record, and one starts just after it.

    The window that ends at a record at `t` is `[t - difference, t]`, the one after it `[t + 1, t + 1 + difference]`,
    which exists only if it holds a record. Records earlier than the difference share the window `[0, difference]`.
    """

    def __init__(self, name: str, settings: WindowSettings, windows: SlidingWindows, fold: Fold) -> None:
        super().__init__(name, settings, windows, fold)
        self._difference_ms = windows.difference_ms

    def process(self, record: AnyRecord) -> None:
        if record.key is not None and record.value is None:
            self.context.drop(self.name, DropReason.NULL_VALUE)
            return
        super().process(record)

    def _fold(self, record: AnyRecord, key: Any, timestamp_ms: int, time_ms: int) -> None:
        if timestamp_ms <= self._last_closed_start(time_ms, self._difference_ms):
            window = Window(max(0, timestamp_ms - self._difference_ms), max(timestamp_ms, self._difference_ms))
            self._drop_late(record, window, time_ms)
            return
        update = _Update(self, record, key, timestamp_ms, time_ms)
        if timestamp_ms < self._difference_ms:
            self._fold_early(update)
        else:
            self._emit_closed(record, self._last_closed_end(time_ms))
            self._fold_usual(update)

    def _fold_usual(self, update: _Update) -> None:
        """Updates the windows around the record from the newest to the oldest, then creates new ones."""
        at_ms = update.timestamp_ms
        left_ms = at_ms - self._difference_ms  # where the window that ends at the record starts
        left: _Row | None = None
        right: _Row | None = None
        previous_ms: int | None = None
        left_exists = right_exists = False
        seen = set()
        for start_ms, row in reversed(update.windows(max(0, left_ms - self._difference_ms), at_ms + 1)):
            seen.add(start_ms)
            if start_ms == at_ms + 1:
                right_exists = True
            elif start_ms > left_ms:
                if right is None:
                    right = update.read(start_ms)
                update.fold(start_ms, row)
            elif start_ms == left_ms:
                left_exists = True
                update.fold(start_ms, row)
                if row.max_ms >= at_ms:
                    return  # an earlier record of the same timestamp has created all windows
                previous_ms = row.max_ms
            else:
                left, previous_ms = row, row.max_ms
                break
        created_ms: int | None = None
        if previous_ms is not None and previous_ms + 1 not in seen and previous_ms + 1 >= left_ms:
            created_ms = previous_ms + 1
            update.fold(created_ms, None, new=True)
        if not left_exists:
            overlaps = previous_ms is not None and previous_ms >= left_ms
            # As in Kafka Streams, it is emitted twice if it is the window after the previous record, too.
            update.fold(left_ms, left if overlaps else None, new=left_ms != created_ms)
        if not right_exists and right is not None and right.max_ms > at_ms:
            update.copy(at_ms + 1, right)

    def _fold_early(self, update: _Update) -> None:
        """Updates windows from the oldest to the newest; the window that all early records share comes last."""
        at_ms = update.timestamp_ms
        combined: _Row | None = None
        right: _Row | None = None
        previous_ms: int | None = None
        right_exists = False
        seen = set()
        for start_ms, row in update.windows(0, at_ms + 1):
            seen.add(start_ms)
            if start_ms == 0:
                combined = row
                if row.max_ms < at_ms:
                    previous_ms = row.max_ms
            elif start_ms <= at_ms:
                right = update.read(start_ms)
                update.fold(start_ms, row)
            else:
                right_exists = True
        if right is None and combined is not None and combined.max_ms > at_ms:
            right = update.read(0)
        if not right_exists and right is not None and right.max_ms > at_ms:
            update.copy(at_ms + 1, right)
        if previous_ms is not None and previous_ms + 1 not in seen and previous_ms + 1 <= at_ms:
            update.fold(previous_ms + 1, None, new=True)
        update.fold(0, combined, new=combined is None)


class _Update:
    """Adds one record to windows."""

    def __init__(
        self, operator: SlidingWindowAggregate, record: AnyRecord, key: Any, timestamp_ms: int, time_ms: int
    ) -> None:
        self.timestamp_ms = timestamp_ms
        self._operator = operator
        self._record = record
        self._key = key
        self._time_ms = time_ms

    def windows(self, from_ms: int, to_ms: int) -> list[tuple[int, _Row]]:
        """The windows of the key that start from `from_ms` to `to_ms`, both inclusive, in ascending order."""
        return [(start_ms, _Row(*row)) for start_ms, row in self._operator._store.fetch(self._key, from_ms, to_ms)]

    def read(self, start_ms: int) -> _Row:
        """A fresh copy of a window's row: an aggregator may change its arguments in place."""
        return _Row(*self._operator._store.fetch(self._key, start_ms))

    def fold(self, start_ms: int, row: _Row | None, *, new: bool = False) -> None:
        """Adds the record to the window at `start_ms`, unless it is late. `row` is the aggregate to add it to.

        If `row` is `None`, the aggregate is an initial one. If the window is `new`, the result has no old value.
        """
        operator = self._operator
        window = sized_window(start_ms, operator._difference_ms)
        if start_ms <= operator._last_closed_start(self._time_ms, operator._difference_ms):
            operator._drop_late(self._record, window, self._time_ms)
            return
        value, result_ms = operator._aggregate(self._key, self._record.value, self.timestamp_ms, row)
        has_old = operator.settings.send_old_values and not new
        # A window that was created by the same record has no row if its aggregate is `None`.
        stored = operator._store.fetch(self._key, start_ms) if has_old else None
        self._put(start_ms, value, None if stored is None else stored[0], result_ms)

    def copy(self, start_ms: int, row: _Row) -> None:
        """Creates a window with the row that another window had before the record."""
        self._put(start_ms, row.value, None, row.max_ms)

    def _put(self, start_ms: int, value: Any, old: Any, result_ms: int) -> None:
        operator = self._operator
        operator._store.put(self._key, value, start_ms, result_ms)
        window = sized_window(start_ms, operator._difference_ms)
        operator._emit(self._record, window, Change(value, old), result_ms)
