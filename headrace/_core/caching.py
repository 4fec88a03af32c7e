"""The record cache: a table with a cached store forwards only the last update of a row since the last flush.

Every update is written to its store immediately, so that lookups see it. The cache only holds the updates that have not
been forwarded yet. The task flushes the cache at the end of a batch, store by store in topology order. A store whose
cached updates exceed its share of the bytes is flushed at once.
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

ENTRY_SIZE = 64  # the bytes that an update counts as, in addition to its key, value and headers

RowId = Callable[[Any], bytes]


class Update(msgspec.Struct, gc=False):
    """The last update of a row, not yet forwarded.

    `old` is the value that was last forwarded for the row. If old values are not forwarded, it only matters whether
    `old` is `None`. `moment` is what the task was processing when it updated the row.
    """

    key: Any
    value: bytes | None
    old: Any
    timestamp_ms: int
    headers: Headers
    moment: Moment
    size: int


class PendingColumns(Protocol):
    """Cached updates of one store that a batch form holds in columns."""

    def flush(self) -> None:
        """Forwards the updates as a batch."""
        ...

    def move_to(self, cache: StoreCache) -> None:
        """Moves the updates of whole batches to `cache` as single updates, so that the record path can continue.

        There are no updates here afterwards.
        """
        ...


class StoreCache:
    """The updates of one store that have not been forwarded, in the order of the last update of each row.

    If `in_columns` is true, a flush passes all updates at once to `forward_in_columns`, if a batch form has set it.

    Args:
        context: the task's context.
        store: the store, whose serdes encode keys and values.
        forward: gets the updates one by one when the cache is flushed.
        send_old_values: whether forwarded changes have old values.
        max_bytes: the cache is flushed when its updates exceed this size.
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
        """Caches a record whose value is the `Change` of a row. Flushes if the updates now exceed `max_bytes`."""
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
        """Caches the new value of a row, serialized. `old` is ignored if the row already has a cached update."""
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
        """Forwards all updates, except of rows that did not exist at the last flush and do not exist now."""
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
    """The caches of a task's stores, in topology order. Each store has an equal share of `max_bytes`."""

    def __init__(self, context: TaskContext, max_bytes: int) -> None:
        self._context = context
        self._max_bytes = max_bytes
        self._stores: dict[str, StoreCache] = {}

    def add(self, operator: Operator, store: Any, *, send_old_values: bool) -> None:
        """Makes an operator put its changes into the cache of `store` instead of forwarding them to its children.

        Call it after `operator.connect`. Children that need every update (`HandOver.every_update`) still get each one
        immediately. Operators that write to the same store, as those of a cogroup do, share one cache, which forwards
        to the children of the operator that was added first.
        """
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
        """Makes flushes forward updates in columns, where a batch form can do so."""
        for store in self._stores.values():
            store.in_columns = True

    def use_records(self) -> None:
        """Makes flushes forward updates one by one, including those that batch forms have cached in columns."""
        for store in self._stores.values():
            store.in_columns = False
            if store.columns is not None:
                store.columns.move_to(store)


class _Put(NamedTuple):
    """Takes the place of a child operator: puts the records that it receives into a cache."""

    cache: StoreCache

    def process(self, record: AnyRecord) -> None:
        self.cache.put(record)


def flush_error(context: TaskContext, error: BaseException, *, key: Any, timestamp_ms: int) -> Stop:
    """Returns the error for an operator that failed on a cached update. It names the input record of that update.

    The context must have returned to the moment of the update. The error is a `Stop`, so that no handler takes it for
    an error of the record whose processing flushed the cache.
    """
    metadata = context.record_metadata
    return Stop(uncaught_error(error, context.task_id, metadata, key=key, timestamp_ms=timestamp_ms))


def headers_size(headers: Headers) -> int:
    return sum(len(name) + len(value or b"") for name, value in headers)


def _split_children(operator: Operator) -> tuple[list[Operator], list[Operator]]:
    """The children that get every update at once, and those that get only what a flush of the cache forwards."""
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
    """Returns a function that maps the key of a change to bytes that identify its row."""
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
