"""group_by on a table: each change to the groups it concerns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace._core.operators.pairs import checked_pair
from headrace.change import Change
from headrace.record import Record
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
