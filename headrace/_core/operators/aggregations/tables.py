"""group_by of a table, and aggregate and reduce of its groups, where the old value goes before the new one comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.laws import latest
from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.aggregations.folds import one_less, one_more
from headrace._core.operators.aggregations.streams import Aggregation
from headrace._core.operators.functions import checked_pair
from headrace.model.record import Change, Record
from headrace.serdes import Serde


class TableGroupBy(Operator):
    """A change within a group is one event with old and new value; one between groups is two, the old row's first.

    A row whose group or grouped value is `None` belongs to no group. With `single_event` off, a change within a group
    is two events as well, as Kafka Streams up to 3.4 has it.
    """

    def __init__(
        self,
        name: str,
        selector: Callable[[Any, Any], tuple[Any, Any] | None],
        key_serde: Serde[Any],
        *,
        single_event: bool,
    ) -> None:
        super().__init__(name)
        self._selector = selector
        self._key_serde = key_serde
        self._single_event = single_event

    def process(self, record: AnyRecord) -> None:
        key, change = record.key, record.value
        if not change.is_latest:
            return
        for group, event in self.events(key, change.new, change.old):
            self.forward(Record(group, event, record.timestamp_ms, record.headers))

    def events(self, key: Any, new_value: Any, old_value: Any) -> tuple[tuple[Any, Change[Any]], ...]:
        """What a change of a row means to groups, in order."""
        old = None if old_value is None else self._grouped(key, old_value)
        new = None if new_value is None else self._grouped(key, new_value)
        if old is None:
            return () if new is None else ((new[0], Change(new[1], None)),)
        if new is None:
            return ((old[0], Change(None, old[1])),)
        if self._single_event and self._same_group(old[0], new[0]):
            return ((new[0], Change(new[1], old[1])),)
        return (old[0], Change(None, old[1])), (new[0], Change(new[1], None))

    def _grouped(self, key: Any, value: Any) -> tuple[Any, Any] | None:
        pair = self._selector(key, value)
        if pair is None:
            return None
        group = checked_pair(pair, self.name, "group_by")
        return None if group[0] is None or group[1] is None else group

    def _same_group(self, old: Any, new: Any) -> bool:
        if old == new:
            return True
        # Keys that know no equality but identity are the same group if their bytes are.
        only_identity: bool = getattr(type(old), "__eq__") is object.__eq__  # noqa: B009
        return only_identity and self._key_serde.serialize(old) == self._key_serde.serialize(new)


class TableAggregate(Aggregation):
    """Subtracts the old value of a row, then adds the new one.

    Nothing is subtracted from a group that has no aggregate.
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
        super().__init__(name, store, send_old_values=send_old_values)
        self._initializer = initializer
        self._adder = adder
        self._subtractor = subtractor

    def folded(self, key: Any, value: Any, timestamp_ms: int, row: tuple[Any, int] | None) -> tuple[Any, int]:
        group, change, aggregate = key, value, None
        if row is not None:
            aggregate = row[0]
            timestamp_ms = latest(timestamp_ms, row[1])
            if change.old is not None:
                aggregate = self._subtractor(group, change.old, aggregate)
        if change.new is not None:
            base = self._initializer() if aggregate is None else aggregate
            aggregate = self._adder(group, change.new, base)
        return aggregate, timestamp_ms


class TableCount(TableAggregate):
    """How many rows a group has."""

    def __init__(self, name: str, store: str, *, send_old_values: bool) -> None:
        super().__init__(name, store, int, one_more, one_less, send_old_values=send_old_values)


class TableReduce(TableAggregate):
    """An aggregate of the values' own kind: the first value of a group, or the first after it ran empty, starts it."""

    def __init__(
        self,
        name: str,
        store: str,
        adder: Callable[[Any, Any], Any],
        subtractor: Callable[[Any, Any], Any],
        *,
        send_old_values: bool,
    ) -> None:
        super().__init__(
            name,
            store,
            _nothing,
            lambda _, value, aggregate: value if aggregate is None else adder(aggregate, value),
            lambda _, value, aggregate: subtractor(aggregate, value),
            send_old_values=send_old_values,
        )


def _nothing() -> None:
    """A reduction starts with its first value."""
