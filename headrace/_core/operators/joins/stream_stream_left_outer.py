"""One side of a left or outer join of two streams."""

from __future__ import annotations

from typing import Any

from headrace._core.laws import due_at, latest
from headrace._core.operator import AnyRecord
from headrace._core.operators.joins.stream_stream import JoinSettings, Matches, StreamJoin
from headrace._core.task.context import TaskContext
from headrace._state.stores.unmatched import UnmatchedRecord, UnmatchedStore, Waits
from headrace.model.pending import PendingTask
from headrace.model.record import Headers, Record


class StreamOuterJoin(StreamJoin):
    """Joins like an inner join, and emits unmatched records of an outer side, with their own timestamp.

    An unmatched record is buffered until stream time is beyond the sum of its timestamp, the window and the grace. If
    its window has already passed, it is emitted immediately. Due records are emitted before the results of the record
    that advanced stream time, and with the headers of that record. Some are emitted later: as in Kafka Streams, a
    record looks for due ones only if stream time is beyond the sum of `UnmatchedStore.next_ms` and the wait of the
    record's own side.
    """

    def __init__(self, name: str, settings: JoinSettings) -> None:
        super().__init__(name, settings)
        own_ms, others_ms = settings.after_ms + settings.grace_ms, settings.before_ms + settings.grace_ms
        self._own_wait_ms = own_ms
        self._waits = Waits(others_ms, own_ms) if settings.is_left else Waits(own_ms, others_ms)
        self._is_left, self._is_outer = settings.is_left, settings.is_outer
        self._other_is_outer = settings.other_is_outer

    def init(self, context: TaskContext) -> None:
        super().init(context)
        assert self._clock is not None
        assert self.settings.unmatched is not None
        self._time = self._clock.time
        self._advance = self._clock.advance
        self._unmatched: UnmatchedStore[Any] = context.store(self.settings.unmatched)

    def join(self, record: AnyRecord, matches: Matches) -> None:
        key, value, timestamp_ms, headers = record.key, record.value, record.timestamp_ms, record.headers
        assert timestamp_ms is not None
        time_ms = self._advance(key, timestamp_ms)
        if key is None or value is None:
            if value is not None and self._is_outer:
                self.forward(record.with_value(self._joined(key, value, None)))
            else:
                self._drop(record)
            return
        key_bytes = self._unmatched.key_bytes(key)
        # As in Kafka Streams, only a record at the head of stream time emits those that are due.
        if timestamp_ms == time_ms:
            self._emit_due(key_bytes, time_ms, headers)
        for other_ms, other in matches:
            if self._other_is_outer:
                self._unmatched.remove(key_bytes, other_ms, is_left=not self._is_left)
            self.forward(Record(key, self._joined(key, value, other), latest(timestamp_ms, other_ms), headers))
        if matches or not self._is_outer:
            return
        if self._last_match_ms(timestamp_ms) < time_ms:
            self.forward(record.with_value(self._joined(key, value, None)))
        else:
            self._unmatched.add(key_bytes, value, timestamp_ms, is_left=self._is_left)

    def close_idle(self) -> None:
        """Emits the unmatched records of idle keys, and deletes all records of these keys on both sides."""
        assert self.idle is not None
        rows: list[UnmatchedRecord[Any]] = []
        for _, key_bytes in self.idle.remove_idle():
            rows += self._unmatched.evict_key(key_bytes)
            self._delete_records(key_bytes)
        for row in sorted(rows, key=self._unmatched.order):
            self._forward_unmatched(row, ())

    def pending(self) -> PendingTask:
        unmatched, time, task_id = self._unmatched, self._time, self.context.task_id
        firsts = [row for is_left in (False, True) if (row := unmatched.oldest(is_left=is_left)) is not None]
        if not firsts:
            return PendingTask(task_id, waiting=0, stream_time_ms=-1 if time.by_key else time.current(None))
        oldest = min(firsts, key=self._due_ms)
        next_ms = unmatched.next_ms(unmatched.key_bytes(oldest.key))
        assert next_ms is not None
        return PendingTask(
            task_id,
            unmatched.count(),
            oldest.key,
            since_ms=oldest.timestamp_ms,
            release_ms=due_at(max(self._due_ms(oldest), next_ms + max(self._waits) + 1), 0),
            release_key=oldest.key if time.by_key else None,
            stream_time_ms=time.current(oldest.key),
        )

    def _emit_due(self, key_bytes: bytes, time_ms: int, headers: Headers) -> None:
        next_ms = self._unmatched.next_ms(key_bytes)
        if next_ms is not None and next_ms + self._own_wait_ms < time_ms:
            for row in self._unmatched.evict_due(key_bytes, time_ms, self._waits):
                self._forward_unmatched(row, headers)

    def _forward_unmatched(self, row: UnmatchedRecord[Any], headers: Headers) -> None:
        joiner = self.settings.joiner
        result = joiner(row.key, row.value, None) if row.is_left else joiner(row.key, None, row.value)
        self.forward(Record(row.key, result, row.timestamp_ms, headers))

    def _due_ms(self, row: UnmatchedRecord[Any]) -> int:
        """The earliest stream time at which an unmatched record is due."""
        return self._waits.due_ms(row.timestamp_ms, is_left=row.is_left)
