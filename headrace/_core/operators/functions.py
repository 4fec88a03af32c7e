"""What operators share that are functions of keys and values, whatever the rest of a record."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace.errors import ProcessingError
from headrace.model.record import Record

Take = Callable[[Any, Any], None]


class FunctionOperator(Operator):
    """Forwards keys and values; with each goes the timestamp and the headers of the record it was made of.

    Whether records come one by one or in batches, `bound` is what it does with them.
    """

    @abstractmethod
    def bound(self, children: Sequence[Take]) -> Take:
        """What it does with a key and a value, given what its children do.

        The function refers to `self`: that is how a failure is known to be this operator's.
        """

    def connect(self, children: Sequence[Operator]) -> None:
        super().connect(children)
        self._take = self.bound([self._as_record(child) for child in children])

    def process(self, record: AnyRecord) -> None:
        self._record = record
        self._take(record.key, record.value)

    def _as_record(self, child: Operator) -> Take:
        process = child.process

        def take(key: Any, value: Any) -> None:
            record = self._record
            if key is not record.key or value is not record.value:
                record = Record(key, value, record.timestamp_ms, record.headers)
            process(record)

        return take


def to_all(children: Sequence[Take]) -> Take:
    """Forwards to each child in turn."""
    if len(children) == 1:
        return children[0]

    def take(key: Any, value: Any) -> None:
        for child in children:
            child(key, value)

    return take


def checked_pair(result: Any, operator: str, operation: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        message = f"{operator}: the function given to {operation}() must return (key, value); it returned {result!r}."
        raise ProcessingError(message)
    return result


def checked_iterable(result: Any, operator: str, operation: str) -> Iterable[Any]:
    if not isinstance(result, Iterable):
        message = f"{operator}: the function given to {operation}() must return an iterable; it returned {result!r}."
        raise ProcessingError(message)
    return result
