"""join and left_join of a stream with a table, with a table's rows as of the record's time, and with a global table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from headrace._core.drop_reasons import DropReason
from headrace._core.laws import due_at
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.tables.lookup import TableLookup
from headrace._core.rows import row_for
from headrace._core.task.context import TaskContext
from headrace._core.time.stream_time import OperatorTime
from headrace.model.pending import PendingTask


class StreamTableJoin(TableLookup):
    """Joins each record with the row of its key: the current row, or in a `versioned` table that of its timestamp.

    Only the stream triggers; results have the timestamp of their record. A record without a key has no row. If the
    joiner does not need the key, `value_joiner` joins the values alone.
    """

    def __init__(
        self,
        name: str,
        table: str,
        joiner: Callable[[Any, Any, Any], Any],
        *,
        left: bool,
        versioned: bool,
        value_joiner: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        super().__init__(name, table)
        self.joiner = joiner
        self.value_joiner = value_joiner
        self.left = left
        self.versioned = versioned

    def process(self, record: AnyRecord) -> None:
        if self._accepts(record):
            self._join(record)

    def _accepts(self, record: AnyRecord) -> bool:
        """Whether a record can be joined; if not, counts it as dropped."""
        if record.value is None:
            self.context.drop(self.name, DropReason.NULL_VALUE)
            return False
        if record.key is None and not self.left:
            self.context.drop(self.name, DropReason.NULL_KEY)
            return False
        return True

    def _join(self, record: AnyRecord) -> None:
        row = row_for(self._rows, record, versioned=self.versioned)
        if row is not None or self.left:
            self.forward(record.with_value(self.joiner(record.key, record.value, None if row is None else row[0])))


class StreamTableGraceJoin(StreamTableJoin):
    """Buffers each record until stream time is `grace_ms` beyond its timestamp, then joins it as of its timestamp.

    Records leave the buffer by timestamp, then key bytes, then arrival. Records later than the grace are joined
    immediately, as are records without a key, which have no row to wait for.
    """

    def __init__(
        self,
        name: str,
        table: str,
        joiner: Callable[[Any, Any, Any], Any],
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
        if record.key is None or self._time.current(record.key) - self._grace_ms > record.timestamp_ms:
            self._join(record)
            return
        self._buffer.put(record)
        due_ms = self._time.advance(record.key, record.timestamp_ms) - self._grace_ms
        with closing(self._buffer.evict_until(due_ms)) as records:
            for due in records:
                self._join(due)

    def pending(self) -> PendingTask:
        task_id, oldest = self.context.task_id, self._buffer.oldest()
        time_ms = self._time.current(None)
        if oldest is None:
            return PendingTask(task_id, waiting=0, stream_time_ms=time_ms)
        key, timestamp_ms = oldest
        return PendingTask(
            task_id,
            self._buffer.count(),
            key,
            since_ms=timestamp_ms,
            release_ms=due_at(timestamp_ms, self._grace_ms),
            stream_time_ms=time_ms,
        )


class StreamGlobalJoin(Operator):
    """Joins each record with the current row of a global table, under the key that `key_selector` returns.

    Only the stream triggers; a result has the key, timestamp and headers of its record. If there is no row, or the
    selected key is `None`, an inner join has no result and a left join one with `None` for the row. Records without a
    value are dropped and counted, and in inner joins those that select no key.
    """

    def __init__(
        self,
        name: str,
        store: str,
        key_selector: Callable[[Any, Any], Any],
        joiner: Callable[[Any, Any, Any, Any], Any],
        *,
        left: bool,
    ) -> None:
        super().__init__(name)
        self._store_name = store
        self._key_selector = key_selector
        self._joiner = joiner
        self._left = left

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._rows = context.store(self._store_name)

    def process(self, record: AnyRecord) -> None:
        value = record.value
        if value is None:
            self.context.drop(self.name, DropReason.NULL_VALUE)
            return
        row_key = self._key_selector(record.key, value)
        if row_key is None and not self._left:
            self.context.drop(self.name, DropReason.NULL_JOIN_KEY)
            return
        row = None if row_key is None else self._rows.get(row_key)
        if row is not None:
            self.forward(record.with_value(self._joiner(record.key, row_key, value, row[0])))
        elif self._left:
            self.forward(record.with_value(self._joiner(record.key, row_key, value, None)))
