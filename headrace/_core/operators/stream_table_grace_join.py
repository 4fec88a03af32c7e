"""join and left_join of a stream with a versioned table, where records wait for late rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord
from headrace._core.operators.stream_table_join import StreamTableJoin
from headrace._core.stream_time import OperatorTime
from headrace.pending import PendingTask


class StreamTableGraceJoin(StreamTableJoin):
    """Holds each record back until one is `grace_ms` later, then joins it as of its own timestamp.

    Records leave by timestamp, then key bytes, then arrival. One that is later than the grace is joined at once, and so
    is one without a key, which has no row to wait for.
    """

    def __init__(
        self,
        name: str,
        table: str,
        joiner: Callable[[Any, Any], Any],
        *,
        left: bool,
        grace_ms: int,
        store: str,
        stream_times: str,
    ) -> None:
        super().__init__(name, table, joiner, left=left, versioned=True)
        self._grace_ms = grace_ms
        self._store_name = store
        self._stream_times = stream_times

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._buffer = context.store(self._store_name)
        self._time = OperatorTime(context.store(self._stream_times), self.name)

    def process(self, record: AnyRecord) -> None:
        if not self._accepts(record):
            return
        assert record.timestamp_ms is not None
        if record.key is None or self._time.reached(record.key) - self._grace_ms > record.timestamp_ms:
            self._join(record)
            return
        self._buffer.put(record)
        due_ms = self._time.advance(record.key, record.timestamp_ms) - self._grace_ms
        with closing(self._buffer.evict_until(due_ms)) as waited:
            for due in waited:
                self._join(due)

    def pending(self) -> PendingTask:
        task_id, oldest = self.context.task_id, self._buffer.oldest()
        time_ms = self._time.reached(None)
        if oldest is None:
            return PendingTask(task_id, 0, stream_time_ms=time_ms)
        key, timestamp_ms = oldest
        return PendingTask(
            task_id,
            self._buffer.count(),
            key,
            since_ms=timestamp_ms,
            release_ms=timestamp_ms + self._grace_ms,
            stream_time_ms=time_ms,
        )
