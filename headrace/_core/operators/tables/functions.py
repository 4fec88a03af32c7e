"""filter, filter_not, map_values and to_stream of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.tables.stored import StoredTable


def row_filter(predicate: Callable[[Any, Any], object], *, keep: bool) -> Callable[[Any, Any], Any]:
    """A function that returns a row's value if the filter keeps it, else `None`; the predicate never gets `None`."""
    return lambda key, value: value if value is not None and bool(predicate(key, value)) is keep else None


class TableFilter(StoredTable):
    """Forwards each change, with `None` in place of values that the filter does not keep: such rows count as deleted.

    With `send_old_values`, a change is not forwarded if both values are `None`, unless the table is `versioned`.
    The predicate never gets `None`. With a store, the old value is read from the store.
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
        super().__init__(name, store)
        self._row = row_filter(predicate, keep=keep)
        self._send_old_values = send_old_values
        self._versioned = versioned

    def process(self, record: AnyRecord) -> None:
        key, change = record.key, record.value
        new = self._row(key, change.new)
        old = self._old(key, change.old) if self._send_old_values else None
        if self._send_old_values and not self._versioned and new is None and old is None:
            return
        self.forward_change(record, new, old)

    def _old(self, key: Any, value: Any) -> Any:
        return self._row(key, value) if self._store is None else self.stored_value(key)


class TableMapValues(StoredTable):
    """Maps the values of every change. `None` stays `None`, without a call of the mapper.

    With a store, the old value is read from the store.
    """

    def __init__(
        self, name: str, store: str | None, mapper: Callable[[Any, Any], Any], *, send_old_values: bool
    ) -> None:
        super().__init__(name, store)
        self._mapper = mapper
        self._send_old_values = send_old_values

    def process(self, record: AnyRecord) -> None:
        key, change = record.key, record.value
        new = self._map(key, change.new)
        old = self._old(key, change.old) if self._send_old_values else None
        self.forward_change(record, new, old)

    def _map(self, key: Any, value: Any) -> Any:
        return None if value is None else self._mapper(key, value)

    def _old(self, key: Any, value: Any) -> Any:
        return self._map(key, value) if self._store is None else self.stored_value(key)


class TableToStream(Operator):
    """Forwards the new value of every change, `None` for a deleted row."""

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_value(record.value.new))
