"""The base of operators that only need keys and values, not timestamps or headers."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from headrace._core.operator import AnyRecord, Operator
from headrace.errors import ProcessingError
from headrace.model.record import Record
from headrace.serdes.base import shortened

MANY_OUTPUTS = 1_000_000  # outputs of one record, after which a warning is logged

F = TypeVar("F", bound=Callable[..., Any])

Take = Callable[[Any, Any], None]

_log = logging.getLogger(__name__)


class FunctionOperator(Operator):
    """Computes new keys and values. Results have the timestamp and the headers of their record.

    A subclass defines `bind`, which both the record path and batch forms use.
    """

    @abstractmethod
    def bind(self, children: Sequence[Take]) -> Take:
        """Returns a function that handles a key and a value, and calls the functions `children` with the results.

        The function must refer to `self` if it can fail: error messages find the failing operator by this variable.
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


class CallingOperator(FunctionOperator, Generic[F]):
    """The base of operators that call one function of the user, `function`, for each record."""

    def __init__(self, name: str, function: F) -> None:
        super().__init__(name)
        self._function = function


def to_all(children: Sequence[Take]) -> Take:
    """Returns a function that calls each child in turn."""
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


def outputs_of(result: Any, key: Any, operator: str, operation: str) -> Iterable[Any]:
    """Checks that `result`, which a user function returned for one record, is iterable, and returns its items.

    Logs a warning if there are very many. A record may have any number of outputs, but a generator that never ends
    would otherwise go unnoticed until memory is full. `operation` is the method that was given the function.
    """
    if type(result) is list:  # The most frequent case, and a list always ends.
        return result
    if not isinstance(result, Iterable):
        message = f"{operator}: the function given to {operation}() must return an iterable; it returned {result!r}."
        raise ProcessingError(message)
    outputs = iter(result)
    return chain(islice(outputs, MANY_OUTPUTS), _further(outputs, key, operator, operation))


def _further(outputs: Iterator[Any], key: Any, operator: str, operation: str) -> Iterator[Any]:
    warn_at = MANY_OUTPUTS
    for count, output in enumerate(outputs, MANY_OUTPUTS):
        if count == warn_at:
            _log.warning(
                "%s: the function given to %s() has returned more than %d outputs for the record with key %s, which "
                "are kept in memory. Check that it ends.",
                operator,
                operation,
                count,
                shortened(key),
            )
            warn_at *= 10
        yield output
