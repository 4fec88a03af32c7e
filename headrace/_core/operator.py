"""The base of all operators: an operator receives a record, may use stores, and forwards records to its children."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headrace._core.errors.user_errors import USER_ERRORS
from headrace._core.task.context import TaskContext
from headrace._core.time.idle_keys import IdleKeys
from headrace.errors import ConfigError, StateError
from headrace.model.error_handlers import ErrorKind
from headrace.model.pending import PendingTask
from headrace.model.processor import ProcessorWrapper
from headrace.model.record import Record

if TYPE_CHECKING:
    from headrace._core.caching import StoreCache

AnyRecord = Record[Any, Any]


class Operator(ABC):
    """A step of a running task. It forwards each record to its children depth first, in the order they were added.

    `idle` finds the idle keys, if the operator closes them. `cache` holds the updates that the operator has not
    forwarded, if it uses the record cache. Otherwise both are `None`. `error_kind` says which error handler is
    responsible for the operator.
    """

    error_kind: ErrorKind = "processing"

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: tuple[Operator, ...] = ()
        self.forward: Callable[[AnyRecord], None] = _discard
        self.idle: IdleKeys | None = None
        self.cache: StoreCache | None = None

    def connect(self, children: Sequence[Operator]) -> None:
        self.children = tuple(children)
        if len(self.children) == 1:
            self.forward = self.children[0].process
        elif self.children:
            self.forward = self._forward_to_all

    def handle_errors(self, handle: Callable[[Operator, AnyRecord, BaseException], None]) -> None:
        """Makes `process` pass an error to `handle` instead of raising it. Call it before `connect` of the parents.

        A `StateError` is still raised, because it would affect other records too.
        """
        process = self.process

        def process_or_handle(record: AnyRecord) -> None:
            try:
                process(record)
            except StateError:
                raise
            except USER_ERRORS as error:
                handle(self, record, error)

        self.process = process_or_handle  # type: ignore[method-assign]

    def wrap(self, wrapper: ProcessorWrapper) -> None:
        """Wraps `process` in the user's wrapper (KIP-1112). Call it before `handle_errors` and `connect`."""
        wrapped = wrapper(self.name, self.process)
        if not callable(wrapped):
            message = f"processor_wrapper returned {wrapped!r} for {self.name!r}; it must return a function (record)."
            raise ConfigError(message)
        self.process = wrapped  # type: ignore[assignment, method-assign]

    def init(self, context: TaskContext) -> None:
        """Sets the context, from which subclasses also get their stores. Called once, before the first record.

        On Spark, a task has new operators in every batch.
        """
        self.context = context

    @abstractmethod
    def process(self, record: AnyRecord) -> None:
        """Processes one record completely: on return, all children have processed what it forwards."""

    def pending(self) -> PendingTask | None:
        """What the operator holds back in this task; `None` for an operator that never holds anything back."""
        return None

    def close_idle(self) -> None:  # noqa: B027  most operators have no idle keys
        """Emits the results held back for idle keys, and deletes these keys. Called only if `idle` is not `None`."""

    def _forward_to_all(self, record: AnyRecord) -> None:
        for child in self.children:
            child.process(record)


def _discard(record: AnyRecord) -> None:
    """The `forward` of an operator without children."""
