"""What aggregations share that keep one aggregate for each key."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headrace._core.context import TaskContext
from headrace._core.operator import AnyRecord, Operator
from headrace.change import Change
from headrace.record import Record


class Aggregation(Operator):
    """Folds a record into the aggregate of its key, stores it and forwards the change, once; `None` deletes the row."""

    def __init__(self, name: str, store: str, *, send_old_values: bool) -> None:
        super().__init__(name)
        self.store_name = store
        self.send_old_values = send_old_values

    def init(self, context: TaskContext) -> None:
        super().init(context)
        self._store = context.store(self.store_name)

    def accepts(self, key: Any, value: Any) -> bool:  # noqa: ARG002
        """Whether a record can be folded in; one that cannot is counted as dropped."""
        return True

    @abstractmethod
    def folded(self, key: Any, value: Any, timestamp_ms: int, row: tuple[Any, int] | None) -> tuple[Any, int]:
        """The aggregate after a record, and its timestamp; `row` is what there was."""

    def process(self, record: AnyRecord) -> None:
        key = record.key
        if not self.accepts(key, record.value):
            return
        assert record.timestamp_ms is not None
        key_bytes = self._store.key_bytes(key)
        row = self._store.read(key_bytes)
        aggregate, timestamp_ms = self.folded(key, record.value, record.timestamp_ms, row)
        # The functions may have changed the aggregate in place: what it was is read anew.
        old = self._store.read(key_bytes)[0] if self.send_old_values and row is not None else None
        self._store.write(key_bytes, aggregate, timestamp_ms)
        self.forward(Record(key, Change(aggregate, old), timestamp_ms, record.headers))
