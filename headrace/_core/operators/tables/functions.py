"""filter, filter_not, map_values and to_stream of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace._core.task.context import TaskContext
from headrace.model.record import Change


def filtered_row(predicate: Callable[[Any, Any], object], *, keep: bool) -> Callable[[Any, Any], Any]:
    """What a filter makes of a row's value: itself, or `None`, about which the predicate is never asked."""
    return lambda key, value: value if value is not None and bool(predicate(key, value)) is keep else None


class TableFilter(Operator):
    """A row that is not kept is a deleted row. Where old values are known, nobody is told of rows that never were.

    The predicate is never asked about `None`. With a store, the old value is what the store holds.
    """

    def __init__(
        self,
        name: str,
        store: str | None,
        predicate: Callable[[Any, Any], object],
        *,
        keep: bool,
        send_old_values: bool,
        versioned: bool,
    ) -> None:
        super().__init__(name)
        self._store_name = store
        self._row = filtered_row(predicate, keep=keep)
        self._send_old_values = send_old_values
        self._versioned = versioned

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store = None if self._store_name is None else context.store(self._store_name)

    def process(self, record: AnyRecord) -> None:
        key, change = record.key, record.value
        new = self._row(key, change.new)
        old = self._old(key, change.old) if self._send_old_values else None
        if self._send_old_values and not self._versioned and new is None and old is None:
            return
        is_latest = change.is_latest
        if self._store is not None:
            self._store.put(key, new, record.timestamp_ms)
            is_latest = True  # it has no versions: what was put last is the row
        self.forward(record.with_value(Change(new, old, is_latest)))

    def _old(self, key: Any, value: Any) -> Any:
        if self._store is None:
            return self._row(key, value)
        row = self._store.get(key)
        return None if row is None else row[0]


class TableMapValues(Operator):
    """Maps the values of every change; `None` stays `None` without asking. With a store, it knows the old value."""

    def __init__(
        self, name: str, store: str | None, mapper: Callable[[Any, Any], Any], *, send_old_values: bool
    ) -> None:
        super().__init__(name)
        self._store_name = store
        self._mapper = mapper
        self._send_old_values = send_old_values

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store = None if self._store_name is None else context.store(self._store_name)

    def process(self, record: AnyRecord) -> None:
        key, change = record.key, record.value
        new = self._mapped(key, change.new)
        old = self._old(key, change.old) if self._send_old_values else None
        is_latest = change.is_latest
        if self._store is not None:
            self._store.put(key, new, record.timestamp_ms)
            is_latest = True  # it has no versions: what was put last is the row
        self.forward(record.with_value(Change(new, old, is_latest)))

    def _mapped(self, key: Any, value: Any) -> Any:
        return None if value is None else self._mapper(key, value)

    def _old(self, key: Any, value: Any) -> Any:
        if self._store is None:
            return self._mapped(key, value)
        row = self._store.get(key)
        return None if row is None else row[0]


class TableToStream(Operator):
    """Forwards the new value of every change, `None` for a deleted row."""

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_value(record.value.new))
