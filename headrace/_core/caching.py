"""The record cache: a table with a cached store forwards only the last update of a row since the last flush.

Stores hold every update immediately, so that whoever reads them sees it. What is cached are the updates that have not
been forwarded yet. The task flushes the cache at the end of a batch, store by store in topology order; a store whose
updates need more than its share of the bytes is flushed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from headrace._core.errors.failure import uncaught_error
from headrace._core.errors.handlers import Stop
from headrace._core.errors.user_errors import USER_ERRORS
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.topics.sink import HandOver
from headrace._core.task.context import Moment, TaskContext
from headrace._state.bytes.composite import time_bytes
from headrace._state.stores.session import TypedSessionStore
from headrace._state.stores.window import TypedTimestampedWindowStore
from headrace.model.record import Change, Headers, Record

ENTRY_SIZE = 64  # what an update needs besides the bytes of its key, value and headers

RowId = Callable[[Any], bytes]


class Update(msgspec.Struct, gc=False):
    """The last update of a row, which has not been forwarded; `old` is the value that was forwarded before it."""

    key: Any
    value: bytes | None
    old: Any
    timestamp_ms: int
    headers: Headers
    moment: Moment
    size: int


class PendingColumns(Protocol):
    """Updates of a store that a batch form holds in columns."""

    def flush(self) -> None:
        """Forwards the updates as a batch."""
        ...

    def move_to(self, cache: StoreCache) -> None:
        """Turns the updates into single ones."""
        ...


class StoreCache:
    """The updates of one store that have not been forwarded, in the order of the last update of each row.

    Args:
        context: the task's context.
        store: the store, whose serdes encode keys and values.
        forward: gets the updates when the cache is flushed.
        send_old_values: whether these have old values.
        max_bytes: how many bytes updates may need.
    """

    def __init__(
        self,
        context: TaskContext,
        store: Any,
        forward: Callable[[AnyRecord], None],
        *,
        send_old_values: bool,
        max_bytes: int,
    ) -> None:
        self.send_old_values = send_old_values
        self.max_bytes = max_bytes
        self.bytes = 0
        self.updates: dict[bytes, Update] = {}
        self.columns: PendingColumns | None = None
        self.forward_in_columns: Callable[[Sequence[Update]], None] | None = None
        self.in_columns = False
        self.context = context
        self._forward = forward
        self._row_id = _row_id(store)
        self._to_bytes = store.value_serde.serialize
        self.value_of = store.value_serde.deserialize

    def put(self, record: AnyRecord) -> None:
        """Caches a record that holds the change of a row, and flushes the store if its bytes are used up."""
        change, timestamp_ms = record.value, record.timestamp_ms
        assert timestamp_ms is not None
        self.put_update(
            self._row_id(record.key),
            record.key,
            self._to_bytes(change.new),
            change.old,
            timestamp_ms,
            record.headers,
            self.context.moment(),
        )

    def put_update(
        self,
        row_id: bytes,
        key: Any,
        value: bytes | None,
        old: Any,
        timestamp_ms: int,
        headers: Headers,
        moment: Moment,
    ) -> None:
        """Caches the change of a row, in bytes. `old` counts only if the row has no cached update."""
        size = ENTRY_SIZE + len(row_id)
        if value is not None:
            size += len(value)
        if headers:
            size += headers_size(headers)
        before = self.updates.pop(row_id, None)
        if before is not None:
            old = before.old
            self.bytes -= before.size
        self.updates[row_id] = Update(key, value, old, timestamp_ms, headers, moment, size)
        self.bytes += size
        if self.bytes > self.max_bytes:
            self.flush()

    def flush(self) -> None:
        """Forwards all updates. The deletion of a row of which nothing was forwarded is not forwarded either."""
        if self.columns is not None:
            self.columns.flush()
        if not self.updates:
            return
        updates = [update for update in self.updates.values() if update.value is not None or update.old is not None]
        self.updates = {}
        self.bytes = 0
        if self.in_columns and self.forward_in_columns is not None:
            self.forward_in_columns(updates)
        else:
            self._forward_each(updates)

    def _forward_each(self, updates: Sequence[Update]) -> None:
        context, send_old_values = self.context, self.send_old_values
        now = context.moment()
        try:
            for update in updates:
                context.return_to(update.moment)
                change = Change(self.value_of(update.value), update.old if send_old_values else None)
                try:
                    self._forward(Record(update.key, change, update.timestamp_ms, update.headers))
                except USER_ERRORS as error:
                    raise flush_error(context, error, key=update.key, timestamp_ms=update.timestamp_ms) from error
        finally:
            context.return_to(now)


class RecordCache:
    """The caches of a task's stores, in topology order; each store has an equal share of the bytes."""

    def __init__(self, context: TaskContext, max_bytes: int) -> None:
        self._context = context
        self._max_bytes = max_bytes
        self._stores: dict[str, StoreCache] = {}

    def add(self, operator: Operator, store: Any, *, send_old_values: bool) -> None:
        """Caches the changes that an operator forwards, which is connected already; its store may be shared."""
        every, cached = _split_children(operator)
        if not cached:
            return
        if store.name not in self._stores:
            self._stores[store.name] = StoreCache(
                self._context,
                store,
                _forward_to(cached),
                send_old_values=send_old_values,
                max_bytes=0,
            )
            for one in self._stores.values():
                one.max_bytes = self._max_bytes // len(self._stores)
        operator.cache = self._stores[store.name]
        operator.forward = _forward_to([*every, _Put(operator.cache)])

    def flush(self) -> None:
        """Forwards all cached updates, at the end of a batch: those of earlier tables of the topology first."""
        for store in self._stores.values():
            store.flush()

    def use_columns(self) -> None:
        """Lets batch forms forward the updates that batch forms cache."""
        for store in self._stores.values():
            store.in_columns = True

    def use_records(self) -> None:
        """Lets operators forward all updates one by one, also those that batch forms have cached."""
        for store in self._stores.values():
            store.in_columns = False
            if store.columns is not None:
                store.columns.move_to(store)


class _Put(NamedTuple):
    """The cache as a receiver of records."""

    cache: StoreCache

    def process(self, record: AnyRecord) -> None:
        self.cache.put(record)


def flush_error(context: TaskContext, error: BaseException, *, key: Any, timestamp_ms: int) -> Stop:
    """The error for an operator that failed on a cached update, with the input record that caused the update.

    It stops the application, and is not an error of the record during which the cache was flushed.
    """
    metadata = context.record_metadata
    return Stop(uncaught_error(error, context.task_id, metadata, key=key, timestamp_ms=timestamp_ms))


def headers_size(headers: Headers) -> int:
    return sum(len(name) + len(value or b"") for name, value in headers)


def _split_children(operator: Operator) -> tuple[list[Operator], list[Operator]]:
    """The children that get every update, and those that get cached updates."""
    every: list[Operator] = [child for child in operator.children if isinstance(child, HandOver) and child.every_update]
    return every, [child for child in operator.children if child not in every]


def _forward_to(receivers: Sequence[Operator | _Put]) -> Callable[[AnyRecord], None]:
    if len(receivers) == 1:
        return receivers[0].process
    targets = [receiver.process for receiver in receivers]

    def forward(record: AnyRecord) -> None:
        for process in targets:
            process(record)

    return forward


def _row_id(store: Any) -> RowId:
    """A function from the key of a change to bytes that identify its row."""
    key_bytes = store.key_bytes
    match store:
        case TypedTimestampedWindowStore():
            return lambda windowed: key_bytes(windowed.key) + time_bytes(windowed.window.start_ms)
        case TypedSessionStore():
            return lambda windowed: (
                key_bytes(windowed.key) + time_bytes(windowed.window.end_ms) + time_bytes(windowed.window.start_ms)
            )
    row_id: RowId = key_bytes
    return row_id
