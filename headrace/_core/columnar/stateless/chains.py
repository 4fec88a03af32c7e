"""Combines functions and aggregations that follow each other into one Python function of a key and a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace._core import operators as ops
from headrace._core.columnar.aggregations.fold import AggregationStep
from headrace._core.columnar.layout import Cursor, HasValue, Layout
from headrace._core.columnar.stateless.functions import ChainEnd
from headrace._core.operator import Operator
from headrace._core.operators.aggregations.streams import AggregatingOperator
from headrace._core.operators.functions import FunctionOperator, Take, to_all
from headrace._state.stores.key_value import TypedTimestampedKeyValueStore
from headrace.serdes import Serde


class FunctionChain:
    """Functions and aggregations combined, up to their `ends`: operators that take the results as a batch of bytes.

    The ends have no form yet: the compiler sets the batch form of each end's operator.

    Args:
        key_serde: serde of the incoming keys, which no function before an aggregation changes.
        stores: the task's stores by name.
    """

    def __init__(self, key_serde: Serde[Any], stores: Mapping[str, Any]) -> None:
        self._key_serde = key_serde
        self._stores = stores
        self.cursor = Cursor()
        self.aggregations: list[AggregationStep] = []
        self.ends: list[ChainEnd] = []

    def combine(self, operators: Iterable[Operator]) -> Take | None:
        """One function for operators that get the same records; `None` if one of them cannot be part of a chain."""
        takes = self._combine_each(operators)
        return None if takes is None else to_all(takes)

    def _combine_each(self, operators: Iterable[Operator]) -> list[Take] | None:
        results = [self._take(operator) for operator in operators]
        takes = [take for take in results if take is not None]
        return takes if len(takes) == len(results) else None

    def _take(self, operator: Operator) -> Take | None:
        match operator:
            case FunctionOperator():
                takes = self._combine_each(operator.children)
                return None if takes is None else operator.bind(takes)
            case ops.Sink():
                return self._end(operator, operator.key_serde, operator.value_serde)
            case ops.StreamCount():
                return self._count(operator, self._stores[operator.store_name].key_serde)
            case ops.TimeWindowCount():
                return self._count(operator, self._stores[operator.settings.store].key_serde)
            case AggregatingOperator():
                return self._aggregation(operator)
        return None

    def _count(self, operator: Operator, key_serde: Serde[Any]) -> Take | None:
        """The end of a chain at a count; `None` unless the count's store has the serde of the incoming keys.

        A count forwards keys in the bytes of its store, so these must decode to the incoming keys.
        """
        return self._end(operator, key_serde, HasValue()) if key_serde == self._key_serde else None

    def _end(self, operator: Operator, key_serde: Serde[Any], value_serde: Serde[Any]) -> Take:
        end = ChainEnd(operator, Layout(key_serde, value_serde, as_written=True), self.cursor)
        self.ends.append(end)
        return end.bind(())

    def _aggregation(self, operator: AggregatingOperator) -> Take | None:
        streams, store = operator.children, self._stores[operator.store_name]
        if operator.forwards_old_values or not all(isinstance(child, ops.TableToStream) for child in streams):
            return None
        if not isinstance(store, TypedTimestampedKeyValueStore):
            return None
        takes = self._combine_each(child for stream in streams for child in stream.children)
        if takes is None:
            return None
        step = AggregationStep(operator, store, self.cursor)
        self.aggregations.append(step)
        return step.bind(takes)
