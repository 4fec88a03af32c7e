"""Ways through functions and aggregations, each put together into one function of a key and a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace._core import operators as ops
from headrace._core.columnar.aggregations.fold import Fold
from headrace._core.columnar.layout import Cursor, Form, HasValue, Layout, Reached, TaskStores
from headrace._core.columnar.stateless.functions import Gathered
from headrace._core.operator import Operator
from headrace._core.operators.aggregations.streams import Aggregation
from headrace._core.operators.functions import FunctionOperator, Take, to_all
from headrace._state.stores.key_value import TimestampedKeyValueStore
from headrace.serdes import Serde

FormOf = Callable[[Operator, Layout, TaskStores, Reached], Form | None]


class Chains:
    """Functions and aggregations put together, up to where they end: at operators with a batch form of bytes.

    Args:
        key_serde: serde of the keys that come, which no function before an aggregation changes.
        kept: what the task keeps.
        reached: what is passed on the way.
        form_of: finds the form of an end.
    """

    def __init__(self, key_serde: Serde[Any], kept: TaskStores, reached: Reached, form_of: FormOf) -> None:
        self._key_serde = key_serde
        self._kept = kept
        self._reached = reached
        self._form_of = form_of
        self.cursor = Cursor()
        self.folds: list[Fold] = []
        self.ends: list[Gathered] = []

    def of_all(self, operators: Iterable[Operator]) -> Take | None:
        """What operators do that get the same records; `None` if one of them cannot be among functions."""
        takes = self._each(operators)
        return None if takes is None else to_all(takes)

    def _each(self, operators: Iterable[Operator]) -> list[Take] | None:
        found = [self._take(operator) for operator in operators]
        takes = [take for take in found if take is not None]
        return takes if len(takes) == len(found) else None

    def _take(self, operator: Operator) -> Take | None:
        match operator:
            case FunctionOperator():
                takes = self._each(operator.children) if self._reached.first(operator.name) else None
                return None if takes is None else operator.bound(takes)
            case ops.Sink():
                return self._end(operator, operator.key_serde, operator.value_serde)
            case ops.StreamCount():
                return self._count(operator, self._kept.stores[operator.store_name].key_serde)
            case ops.TimeWindowCount():
                return self._count(operator, self._kept.stores[operator.settings.store].key_serde)
            case Aggregation():
                return self._fold(operator)
        return None

    def _count(self, operator: Operator, key_serde: Serde[Any]) -> Take | None:
        """An end at a count, which hands on keys as they are stored: they must read as those that came."""
        return self._end(operator, key_serde, HasValue()) if key_serde == self._key_serde else None

    def _end(self, operator: Operator, key_serde: Serde[Any], value_serde: Serde[Any]) -> Take | None:
        form = self._form_of(operator, Layout(key_serde, value_serde, as_written=True), self._kept, self._reached)
        if form is None:
            return None
        end = Gathered(operator.name, key_serde, value_serde, self.cursor, form)
        self.ends.append(end)
        return end.bound(())

    def _fold(self, operator: Aggregation) -> Take | None:
        streams, store = operator.children, self._kept.stores[operator.store_name]
        if operator.send_old_values or not all(isinstance(child, ops.TableToStream) for child in streams):
            return None
        if not isinstance(store, TimestampedKeyValueStore):
            return None
        if not all(self._reached.first(reached.name) for reached in (operator, *streams)):
            return None
        takes = self._each(child for stream in streams for child in stream.children)
        if takes is None:
            return None
        fold = Fold(operator, store, self.cursor)
        self.folds.append(fold)
        return fold.bound(takes)
