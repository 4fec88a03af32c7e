"""The base of operators that only need keys and values, not timestamps or headers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace._core.operator import AnyRecord, Operator
from headrace.errors import ProcessingError
from headrace.model.record import Record

Take = Callable[[Any, Any], None]


class FunctionOperator(Operator):
    """Computes new keys and values; results have the timestamp and the headers of their record.

    `bind` defines it for both the record path and batches.
    """

    @abstractmethod
    def bind(self, children: Sequence[Take]) -> Take:
        """A function that handles a key and a value, and calls those of its children with the results.

        It must refer to `self`: error messages find the failing operator by that.
        """

    def connect(self, children: Sequence[Operator]) -> None:
        super().connect(children)
        self._take = self.bind([self._record_to(child) for child in children])

    def process(self, record: AnyRecord) -> None:
        self._record = record
        self._take(record.key, record.value)

    def _record_to(self, child: Operator) -> Take:
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
