"""What an operator is: it receives a record, may use its stores, and forwards records to its children."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from headrace._core.task.context import TaskContext
from headrace._core.time.idle_keys import IdleKeys
from headrace.errors import StateError
from headrace.model.pending import PendingTask
from headrace.model.record import Record

AnyRecord = Record[Any, Any]


class Operator(ABC):
    """One node of a running task. Children see a forwarded record depth first, in the order they were added."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.children: tuple[Operator, ...] = ()
        self.forward: Callable[[AnyRecord], None] = _ignore
        self.idle: IdleKeys | None = None

    def connect(self, children: Sequence[Operator]) -> None:
        self.children = tuple(children)
        if len(self.children) == 1:
            self.forward = self.children[0].process
        elif self.children:
            self.forward = self._forward_to_all

    def handle_errors(self, handle: Callable[[Operator, AnyRecord, Exception], None]) -> None:
        """Has errors of `process` handled instead of raised to whoever forwards a record; to be called unconnected.

        Errors of state are raised all the same: other records would meet them too.
        """
        process = self.process

        def handling(record: AnyRecord) -> None:
            try:
                process(record)
            except StateError:
                raise
            except Exception as error:
                handle(self, record, error)

        self.process = handling  # type: ignore[method-assign]

    def init(self, context: TaskContext) -> None:
        """Called once per task, before its first record."""
        self.context = context

    @abstractmethod
    def process(self, record: AnyRecord) -> None:
        """Handles one record completely; what it forwards has been handled by all children on return."""

    def pending(self) -> PendingTask | None:
        """What of its results it holds back in this task; `None` for an operator that never does."""
        return None

    def close_idle(self) -> None:  # noqa: B027  most operators know no idle keys
        """Lets go what it holds back of keys that are idle; called only where `idle` says which are."""

    def _forward_to_all(self, record: AnyRecord) -> None:
        for child in self.children:
            child.process(record)


def _ignore(record: AnyRecord) -> None:
    """Where a node has no children, its records end."""
