"""group_by of a table, and count, reduce and aggregate of groups: subtracts the old value, then adds the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.aggregations.count_and_reduce import Fold
from headrace._core.operators.aggregations.streams import AggregatingOperator
from headrace._core.operators.functions import checked_pair
from headrace.model.record import Change, Record
from headrace.serdes import Serde


class TableGroupBy(Operator):
    """Turns each change of a row into events for the groups of its old and its new value.

    A change within a group is one event with both values. A change from one group to another is two events, the one of
    the old group first. A row whose group or grouped value is `None` belongs to no group. If `single_event` is false,
    a change within a group is two events as well, as in Kafka Streams up to 3.4.
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
        """The events that a change of a row causes, with their groups, in order."""
        old = None if old_value is None else self._group(key, old_value)
        new = None if new_value is None else self._group(key, new_value)
        if old is None:
            return () if new is None else ((new[0], Change(new[1], None)),)
        if new is None:
            return ((old[0], Change(None, old[1])),)
        if self._single_event and self._same_group(old[0], new[0]):
            return ((new[0], Change(new[1], old[1])),)
        return (old[0], Change(None, old[1])), (new[0], Change(new[1], None))

    def _group(self, key: Any, value: Any) -> tuple[Any, Any] | None:
        pair = self._selector(key, value)
        if pair is None:
            return None
        group = checked_pair(pair, self.name, "group_by")
        return None if group[0] is None or group[1] is None else group

    def _same_group(self, old: Any, new: Any) -> bool:
        if old == new:
            return True
        # Keys of a class without __eq__ are the same group if their bytes are equal.
        compares_identity: bool = getattr(type(old), "__eq__") is object.__eq__  # noqa: B009
        return compares_identity and self._key_serde.serialize(old) == self._key_serde.serialize(new)


class TableAggregate(AggregatingOperator):
    """Subtracts the old value of a row from its group's aggregate, then adds the new one (KIP-904).

    Nothing is subtracted from a group without an aggregate.
    """

    def __init__(
        self, name: str, store: str, adding: Fold, subtractor: Callable[[Any, Any, Any], Any], *, send_old_values: bool
    ) -> None:
        super().__init__(name, store, send_old_values=send_old_values)
        self._initializer = adding.initializer
        self._adder = adding.aggregator
        self._subtractor = subtractor

    def aggregate(self, key: Any, value: Any, before: Any) -> Any:
        group, change, aggregate = key, value, before
        if aggregate is not None and change.old is not None:
            aggregate = self._subtractor(group, change.old, aggregate)
        if change.new is not None:
            aggregate = self._adder(group, change.new, self._initializer() if aggregate is None else aggregate)
        return aggregate
