"""The operators of `filter`, `filter_not`, `map_values` and `to_stream` of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.tables.stored import TableWithOldValues


def row_filter(predicate: Callable[[Any, Any], object], *, keep: bool) -> Callable[[Any, Any], Any]:
    """Returns a function of a row's key and value that returns the value if the filter keeps it, else `None`.

    The predicate never gets `None`.
    """
    return lambda key, value: value if value is not None and bool(predicate(key, value)) is keep else None


def row_mapper(mapper: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns a function that maps a row's value. `None` stays `None`, without a call of the mapper."""
    return lambda key, value: None if value is None else mapper(key, value)


class DerivedTable(TableWithOldValues):
    """The base of operators that compute each row from one row of another table: `derive(key, value)`.

    With a store, the old value is read from the store.
    """

    def __init__(
        self, name: str, store: str | None, derive: Callable[[Any, Any], Any], *, send_old_values: bool
    ) -> None:
        super().__init__(name, store, send_old_values=send_old_values)
        self._derive = derive

    def process(self, record: AnyRecord) -> None:
        key, change = record.key, record.value
        new = self._derive(key, change.new)
        old = self._old(key, change.old) if self.send_old_values else None
        if not self._ignores(new, old):
            self.forward_change(record, new, old)

    def _ignores(self, new: Any, old: Any) -> bool:  # noqa: ARG002
        """Whether a change with these values is neither stored nor forwarded."""
        return False

    def _old(self, key: Any, value: Any) -> Any:
        return self._derive(key, value) if self._store is None else self.stored_value(key)


class TableFilter(DerivedTable):
    """Forwards each change, with `None` in place of values that the filter does not keep: such rows count as deleted.

    With `send_old_values`, a change is not forwarded if both values are `None`, unless the table is `versioned`.
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
        super().__init__(name, store, row_filter(predicate, keep=keep), send_old_values=send_old_values)
        self._ignores_absent = send_old_values and not versioned

    def _ignores(self, new: Any, old: Any) -> bool:
        return self._ignores_absent and new is None and old is None


class TableMapValues(DerivedTable):
    """Maps the values of every change. `None` stays `None`, without a call of the mapper."""

    def __init__(
        self, name: str, store: str | None, mapper: Callable[[Any, Any], Any], *, send_old_values: bool
    ) -> None:
        super().__init__(name, store, row_mapper(mapper), send_old_values=send_old_values)


class TableToStream(Operator):
    """Forwards the new value of every change, `None` for a deleted row."""

    def process(self, record: AnyRecord) -> None:
        self.forward(record.with_value(record.value.new))
