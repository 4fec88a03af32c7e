"""count, reduce and aggregate of a grouped stream: one aggregate for each key."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from headrace._core.laws import latest
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.aggregations.folds import one_more
from headrace._core.task.context import TaskContext
from headrace.model.record import Change, Record


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


class StreamAggregation(Aggregation):
    """Drops and counts records without a key or a value."""

    def accepts(self, key: Any, value: Any) -> bool:
        if key is None:
            self.context.drop(self.name, "null key")
            return False
        if value is None:
            self.context.drop(self.name, "null value")
            return False
        return True


class StreamAggregate(StreamAggregation):
    """The initializer starts the aggregate of a key, the aggregator goes on with it."""

    def __init__(
        self,
        name: str,
        store: str,
        initializer: Callable[[], Any],
        aggregator: Callable[[Any, Any, Any], Any],
        *,
        send_old_values: bool,
    ) -> None:
        super().__init__(name, store, send_old_values=send_old_values)
        self._initializer = initializer
        self._aggregator = aggregator

    def folded(self, key: Any, value: Any, timestamp_ms: int, row: tuple[Any, int] | None) -> tuple[Any, int]:
        if row is None:
            return self._aggregator(key, value, self._initializer()), timestamp_ms
        return self._aggregator(key, value, row[0]), latest(timestamp_ms, row[1])


class StreamCount(StreamAggregate):
    """An aggregate that starts at 0 and grows by 1."""

    def __init__(self, name: str, store: str, *, send_old_values: bool) -> None:
        super().__init__(name, store, int, one_more, send_old_values=send_old_values)


class StreamReduce(StreamAggregation):
    """The first value of a key starts its aggregate."""

    def __init__(self, name: str, store: str, reducer: Callable[[Any, Any], Any], *, send_old_values: bool) -> None:
        super().__init__(name, store, send_old_values=send_old_values)
        self._reducer = reducer

    def folded(self, key: Any, value: Any, timestamp_ms: int, row: tuple[Any, int] | None) -> tuple[Any, int]:  # noqa: ARG002
        if row is None:
            return value, timestamp_ms
        return self._reducer(row[0], value), latest(timestamp_ms, row[1])
