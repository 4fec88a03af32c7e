"""count and aggregate on a grouped table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator
from headrace._core.timestamps import latest
from headrace.change import Change
from headrace.record import Record


class TableAggregate(Operator):
    """Subtracts the old value of a row, then adds the new one; stores once and forwards once.

    Nothing is subtracted from a group that has no aggregate. An aggregate of `None` deletes the group's row.
    """

    def __init__(
        self,
        name: str,
        store: str,
        initializer: Callable[[], Any],
        adder: Callable[[Any, Any, Any], Any],
        subtractor: Callable[[Any, Any, Any], Any],
        *,
        send_old_values: bool,
    ) -> None:
        super().__init__(name)
        self.store_name = store
        self._initializer = initializer
        self._adder = adder
        self._subtractor = subtractor
        self.send_old_values = send_old_values

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store = context.store(self.store_name)

    def process(self, record: AnyRecord) -> None:
        assert record.timestamp_ms is not None
        group = record.key
        key_bytes = self._store.key_bytes(group)
        row = self._store.read(key_bytes)
        aggregate, timestamp_ms = self.folded(group, record.value, record.timestamp_ms, row)
        # The functions may have changed the aggregate in place: what it was is read anew.
        old = self._store.read(key_bytes)[0] if self.send_old_values and row is not None else None
        self._store.write(key_bytes, aggregate, timestamp_ms)
        self.forward(Record(group, Change(aggregate, old), timestamp_ms, record.headers))

    def folded(
        self, group: Any, change: Change[Any], timestamp_ms: int, row: tuple[Any, int] | None
    ) -> tuple[Any, int]:
        """The aggregate after a change, and its timestamp; `row` is what there was."""
        aggregate = None
        if row is not None:
            aggregate = row[0]
            timestamp_ms = latest(timestamp_ms, row[1])
            if change.old is not None:
                aggregate = self._subtractor(group, change.old, aggregate)
        if change.new is not None:
            base = self._initializer() if aggregate is None else aggregate
            aggregate = self._adder(group, change.new, base)
        return aggregate, timestamp_ms
