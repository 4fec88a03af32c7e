"""suppress on a table: buffers rows until their window closes, or for a time limit."""

from __future__ import annotations

from typing import Any, NamedTuple

from headrace._core.laws import closes_at, due_at, last_closed_end
from headrace._core.operator import AnyRecord, Operator
from headrace._core.task.context import TaskContext
from headrace._core.time.idle_keys import IdleKeys, IdleSettings
from headrace._core.time.stream_time import stream_time
from headrace._state.stores.suppress_buffer import BufferedRow
from headrace.errors import StateError, StreamsError
from headrace.model.pending import PendingTask
from headrace.model.record import Change, Record
from headrace.model.time.emission import BufferConfig
from headrace.model.time.windows import Windowed


class SuppressSettings(NamedTuple):
    """The settings of `suppress()`: its buffer, the stores of its stream time, and when rows leave the buffer."""

    store: str
    stream_times: str
    key_times: str | None
    idle: IdleSettings | None
    until_window_closes: bool
    wait_ms: int
    buffer: BufferConfig


class TableSuppress(Operator):
    """Buffers each row until stream time reaches its buffer time plus `wait_ms`; only records advance stream time.

    The buffer time is the end of the row's window, or the timestamp of its first buffered update. A row leaves with the
    timestamp and the headers of its last update. Its old value is the one that was last emitted.
    """

    def __init__(self, name: str, settings: SuppressSettings) -> None:
        super().__init__(name)
        self.settings = settings

    def init(self, context: TaskContext) -> None:
        super().init(context)
        settings = self.settings
        self.time = stream_time(context, self.name, settings.stream_times, settings.key_times)
        self.buffer = context.store(settings.store)
        if settings.idle is not None and settings.key_times is not None:
            self.idle = IdleKeys(context, settings.idle, settings.key_times)

    def process(self, record: AnyRecord) -> None:
        assert record.timestamp_ms is not None
        key, settings, buffer = record.key, self.settings, self.buffer
        time_ms = self.time.advance(_clock_key(key), record.timestamp_ms)
        if self.idle is not None:
            self.idle.see(_clock_key(key))
        buffer_time_ms = self._window_end_ms(key) if settings.until_window_closes else record.timestamp_ms
        buffer.put(record, buffer_time_ms, topic=self.context.topic)
        for row in buffer.evict_due(key, self._last_due_ms(time_ms)):
            self._emit(row)
        if self._is_full():
            if not settings.buffer.emits_early:
                raise StateError(self._full_message())
            for row in buffer.evict_while(self._is_full):
                self._emit(row)

    def close_idle(self) -> None:
        """Emits the buffered rows of idle keys, and deletes these keys."""
        assert self.idle is not None
        rows = [row for _, key_bytes in self.idle.remove_idle() for row in self.buffer.evict_key(key_bytes)]
        rows.sort(key=lambda row: (row.buffer_time_ms, self.buffer.key_bytes(row.key)))
        for row in rows:
            self._emit(row._replace(headers=()))

    def pending(self) -> PendingTask:
        task_id, time, oldest = self.context.task_id, self.time, self.buffer.oldest()
        if oldest is None:
            return PendingTask(task_id, waiting=0, stream_time_ms=-1 if time.by_key else time.current(None))
        key, buffer_time_ms = oldest
        return PendingTask(
            task_id,
            self.buffer.usage().records,
            key,
            since_ms=buffer_time_ms,
            release_ms=self._release_ms(buffer_time_ms),
            release_key=_clock_key(key) if time.by_key else None,
            stream_time_ms=time.current(_clock_key(key)),
        )

    def _last_due_ms(self, time_ms: int) -> int:
        settings = self.settings
        if settings.until_window_closes:
            # As in Kafka Streams, also for sessions, although they close 1 ms later: their end belongs to them.
            return last_closed_end(time_ms, settings.wait_ms)
        return time_ms - settings.wait_ms

    def _release_ms(self, buffer_time_ms: int) -> int | None:
        released_at = closes_at if self.settings.until_window_closes else due_at
        return released_at(buffer_time_ms, self.settings.wait_ms)

    def _emit(self, row: BufferedRow[Any, Any]) -> None:
        # A window whose last value is None has no final result.
        if row.value is not None or not self.settings.until_window_closes:
            self.forward(Record(row.key, Change(row.value, row.prior), row.timestamp_ms, row.headers))

    def _window_end_ms(self, key: Any) -> int:
        if isinstance(key, Windowed):
            return key.window.end_ms
        message = (
            f"{self.name} holds rows back until their window closes, but the key {key!r} has no window. Keep the "
            "Windowed keys of the aggregation up to suppress(), or use Suppressed.until_time_limit()."
        )
        raise StreamsError(message)

    def _is_full(self) -> bool:
        limits = self.settings.buffer
        if not limits.is_limited:
            return False
        records, size = self.buffer.usage()
        return (limits.record_limit is not None and records > limits.record_limit) or (
            limits.byte_limit is not None and size > limits.byte_limit
        )

    def _full_message(self) -> str:
        limits, usage = self.settings.buffer, self.buffer.usage()
        allowed = [
            f"{limit:,} {unit}"
            for limit, unit in [(limits.record_limit, "records"), (limits.byte_limit, "bytes")]
            if limit is not None
        ]
        early = "" if self.settings.until_window_closes else ", let it emit_early_when_full()"
        return (
            f"{self.name} holds back {usage.records:,} records of {usage.bytes:,} bytes, but its buffer allows "
            f"{' and '.join(allowed)} and shuts down when full. Give it a larger BufferConfig{early}, or hold rows "
            "back for a shorter time."
        )


def _clock_key(key: Any) -> Any:
    """The key without its window: if each key has its own stream time, all windows of a key share it."""
    return key.key if isinstance(key, Windowed) else key
