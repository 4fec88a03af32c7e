"""count, reduce and aggregate of a grouped stream: one aggregate for each key."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headrace._core.drop_reasons import DropReason
from headrace._core.laws import latest
from headrace._core.operator import AnyRecord
from headrace._core.operators.aggregations.count_and_reduce import Fold
from headrace._core.operators.tables.stored import TableWithOldValues
from headrace._state.stores.versioned import NEWEST, NOT_PUT
from headrace.model.record import Change, Record


class AggregatingOperator(TableWithOldValues):
    """Folds each record into the aggregate of its key, stores the aggregate and forwards the change.

    A result has the highest timestamp of the records since its row was created (KIP-259). An aggregate of `None`
    deletes the row. In a versioned store the aggregate is that of the newest version, and the result is a new version.
    """

    store_name: str

    def accepts(self, key: Any, value: Any) -> bool:  # noqa: ARG002
        """Whether a record can be folded in; if not, counts it as dropped."""
        return True

    def fold(self, key: Any, value: Any, timestamp_ms: int, row: tuple[Any, int] | None) -> tuple[Any, int]:
        """Returns the aggregate after a record, and its timestamp. An aggregate of `None` deletes the row.

        `row` is the aggregate before the record and its timestamp; `None` if the key has no row.
        """
        if row is None:
            return self.aggregate(key, value, None), timestamp_ms
        return self.aggregate(key, value, row[0]), latest(timestamp_ms, row[1])

    @abstractmethod
    def aggregate(self, key: Any, value: Any, before: Any) -> Any:
        """Returns the aggregate after a record. `before` is the aggregate before it, `None` if there is none."""

    def process(self, record: AnyRecord) -> None:
        key = record.key
        if not self.accepts(key, record.value):
            return
        assert record.timestamp_ms is not None
        key_bytes = self._store.key_bytes(key)
        row = self._store.read(key_bytes)
        aggregate, timestamp_ms = self.fold(key, record.value, record.timestamp_ms, row)
        old = None if row is None or not self.send_old_values else self._old(key_bytes, row[0])
        valid_to_ms = self._store.write(key_bytes, aggregate, timestamp_ms)
        if valid_to_ms == NOT_PUT:
            self.context.drop(self.name, DropReason.BEFORE_HISTORY)
            return
        self.forward(Record(key, Change(aggregate, old, valid_to_ms == NEWEST), timestamp_ms, record.headers))

    def _old(self, key_bytes: bytes, row: Any) -> Any:
        """The aggregate before the record. The functions may have changed it in place, so it is read again.

        It is not read again if the record cache does not need the value: because the row already has a cached update,
        or because old values are not forwarded, so that it only matters whether there was one.
        """
        cache = self.cache
        if cache is not None and (not cache.send_old_values or key_bytes in cache.updates):
            return row
        return self._store.read(key_bytes)[0]


class StreamAggregate(AggregatingOperator):
    """Starts the aggregate of a key with the initializer and continues it with the aggregator.

    Records without a key or without a value are dropped and counted.
    """

    def __init__(self, name: str, store: str, fold: Fold, *, send_old_values: bool) -> None:
        super().__init__(name, store, send_old_values=send_old_values)
        self._initializer = fold.initializer
        self._aggregator = fold.aggregator

    def accepts(self, key: Any, value: Any) -> bool:
        if key is None:
            self.context.drop(self.name, DropReason.NULL_KEY)
            return False
        if value is None:
            self.context.drop(self.name, DropReason.NULL_VALUE)
            return False
        return True

    def aggregate(self, key: Any, value: Any, before: Any) -> Any:
        return self._aggregator(key, value, self._initializer() if before is None else before)


class StreamCount(StreamAggregate):
    """Counts the records of each key; a class of its own because counting has a batch form."""
